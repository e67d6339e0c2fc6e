package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/internal/durable"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/report"
)

// reportFlags holds the flags of report in addition to the common ones.
type reportFlags struct {
	*common
	file    string
	options report.Options
	top     topFlags
	times   evidenceFlags
}

func newReportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report [flags]",
		Short: "Write one page: costs, changes, callers, health",
		Long: `Writes one page of what the warehouse knows: costs with intervals, changes between versions, the
distribution of a method's calls and its course over time, who calls whom, and whether every counted
call is stored. HTML is one file that needs no other file and no network. See docs/guides/report.md.`,
		Example: `  corehour report --since 7d --output report.html
  corehour report --format markdown --service shop`,
		Annotations: exits("0 written\n2 failed\n3 no data"),
	}
	c := newCommon(cmd, "24h")
	c.alsoHTML()
	rule := pairs.EvidenceRule{}
	r := &reportFlags{common: c, options: report.Options{Rule: rule, Verdict: pairs.Options{Limits: rule.Default()}}}
	o := &r.options
	c.flags.StringVar(&r.file, "output", "", "`file` to write, replaced in one step (default: standard output)")
	groupFlags(c.flags, outputFlags, "output")
	r.top.declare(c.flags, "how many methods, changes and services each part of the page has")
	r.times.declare(c.flags)
	c.flags.IntVar(&o.Methods, "methods", 8, "how many `methods` to show in detail, at most 50: those that were raised, then those that cost most")
	c.flags.StringVar(&o.Verdict.Base, "base", "", "`version` to compare with (default: the one before head)")
	c.flags.StringVar(&o.Verdict.Head, "head", "", "`version` to compare (default: the newest)")
	c.completeVersions(cmd, "base", "head")
	return withWork(cmd, r.writeReport)
}

func (c *reportFlags) check() error {
	if o := &c.options; o.Methods < 0 || o.Methods > 50 {
		return fmt.Errorf("--methods: want 0 to 50, found %d", o.Methods)
	}
	return errors.Join(c.top.check(c.flags), c.times.check(c.flags, &c.options.Verdict))
}

func (c *reportFlags) checkFormat() error {
	if c.out == output.CSV {
		return errors.New("--format: a report has many tables and csv holds one; want html, text, markdown or json")
	}
	return nil
}

func (c *reportFlags) writeReport(ctx context.Context, stdout, stderr io.Writer) (int, error) {
	if err := c.checkFlags(c.noArguments, c.check, c.checkFormat); err != nil {
		return exitFailed, err
	}
	o := c.options
	o.Warehouse, o.Window, o.Filter, o.Zone, o.Now, o.Notices = c.warehouse, c.window, c.filter, c.zone, now(), stderr
	o.Top = c.top.lines
	o.NoFrameworks, o.Verified = c.noFrameworks, c.verified
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
	if c.file == "" {
		_, err = page.WriteTo(stdout)
		return exitNothing, err
	}
	if err := durable.ReplaceShared(c.file, page.Bytes(), 0o644); err != nil {
		return exitFailed, fmt.Errorf("--output: %w", err)
	}
	fmt.Fprintf(stderr, "wrote %s\n", output.Printable(c.file))
	return exitNothing, nil
}
