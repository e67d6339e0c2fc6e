package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/regression/query"
)

// version and commit are set by the Makefile; other builds use Go's build information.
var version, commit string

func newVersionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version [flags]",
		Short: "Print the versions of corehour, Go and DuckDB",
		Long: `Prints the version of the command, the commit it was built from if that is known, and the versions
of Go and DuckDB in it. Include them in a bug report.`,
		Example:           "  corehour version",
		Annotations:       exits("0 printed\n2 failed"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	return withWork(cmd, func(ctx context.Context, stdout, _ io.Writer) (int, error) {
		if cmd.Flags().NArg() > 0 {
			return exitFailed, fmt.Errorf("want no arguments, found %q", cmd.Flags().Arg(0))
		}
		return exitNothing, printVersions(ctx, stdout)
	})
}

func printVersions(ctx context.Context, stdout io.Writer) error {
	engine, err := query.EngineVersion(ctx)
	if err != nil {
		return err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("the command was built without modules and does not know its version")
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
	return err
}
