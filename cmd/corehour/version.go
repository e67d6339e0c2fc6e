package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/corehour/corehour/regression/query"
)

// version and commit are set by the Makefile; other builds know what Go records.
var version, commit string

const versionUsage = `Prints the version of the command, the commit it was built from where that is known,
and the versions of Go and of DuckDB in it: what a report of a fault should name.`

func runVersion(ctx context.Context, args []string, stdout, _ io.Writer) (int, error) {
	f := newFlags("version", "", versionUsage, stdout)
	if err := parseFlags(f, args); err != nil {
		return exitFailed, err
	}
	if f.NArg() > 0 {
		return exitFailed, fmt.Errorf("want no arguments, found %q", f.Arg(0))
	}
	engine, err := query.EngineVersion(ctx)
	if err != nil {
		return exitFailed, err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return exitFailed, errors.New("the command was built without modules and does not know its version")
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	built := settings["vcs.revision"]
	if settings["vcs.modified"] == "true" {
		built += "-dirty"
	}
	_, err = fmt.Fprintf(stdout, "corehour %s\ncommit %s\nGo %s\nDuckDB %s\n", cmp.Or(version, info.Main.Version, "(devel)"), cmp.Or(commit, built, "unknown"), runtime.Version(), engine)
	return exitNothing, err
}
