package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/report"
	"github.com/corehour/corehour/regression/verdict"
)

const reportUsage = `Writes one page of what the warehouse knows: costs with error bars, what moved from
version to version, how the calls of a method are spread and how it went over time,
who calls whom, and whether the figures can be believed. As html it is one file
that needs nothing else, and no network.`

func runReport(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	c := newCommon("report", "", reportUsage, "24h", stdout)
	c.alsoHTML()
	file := c.flags.String("output", "", "`file` to write, replaced in one step (default: standard output)")
	o := report.Options{Verdict: verdict.Options{ThresholdPercent: leastChange, MinRecords: leastRecords}}
	var top topFlags
	top.declare(c.flags, "how many methods, changes and services each part of the page has")
	var times evidenceFlags
	times.declare(c.flags)
	c.flags.IntVar(&o.Methods, "methods", 8, "how many `methods` to look at closely, at most 50: those that were raised, then those that cost most")
	c.flags.StringVar(&o.Verdict.Base, "base", "", "`version` to compare with (default: the one before head)")
	c.flags.StringVar(&o.Verdict.Head, "head", "", "`version` to look at (default: the newest)")
	err := c.parse(args, c.noArguments, func() error {
		if o.Methods < 0 || o.Methods > 50 {
			return fmt.Errorf("--methods: want 0 to 50, found %d", o.Methods)
		}
		return errors.Join(top.check(c.flags), times.check(c.flags, &o.Verdict))
	}, func() error {
		if c.out == output.CSV {
			return errors.New("--format: a report has many tables and csv holds one; want html, text, markdown or json")
		}
		return nil
	})
	if err != nil {
		return exitFailed, err
	}
	o.Warehouse, o.Window, o.Filter, o.Zone, o.Now, o.Notices = c.warehouse, c.window, c.filter, c.zone, now(), stderr
	o.Top = top.lines
	o.Nothing, o.NoFrameworks, o.Verified = c.nothing, c.noFrameworks, c.verified
	r, err := report.Gather(ctx, o)
	if err != nil {
		return exitFailed, err
	}
	var page bytes.Buffer
	if c.out == output.HTML {
		err = r.WriteHTML(&page)
	} else {
		err = c.write(&page, r.Document())
	}
	if err != nil {
		return exitFailed, err
	}
	if *file == "" {
		_, err = page.WriteTo(stdout)
		return exitNothing, err
	}
	if err := replaceFile(*file, page.Bytes()); err != nil {
		return exitFailed, fmt.Errorf("--output: %w", err)
	}
	fmt.Fprintf(stderr, "wrote %s\n", output.Printable(*file))
	return exitNothing, nil
}

// replaceFile writes a file in one step: a reader finds the old one or the new.
func replaceFile(path string, data []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.Write(data)
	if err = errors.Join(err, temporary.Chmod(0o644), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
