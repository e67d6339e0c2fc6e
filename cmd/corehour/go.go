package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/internal/instrument"
	"github.com/corehour/corehour/regression/output"
)

func newGoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "go [flags] build|run|test|install [go flags] [packages]",
		Short: "Build a Go program with a probe in every function",
		Long: `Runs the go command with probes compiled in, without changing the source or go.mod. Without
--methods or --task every function of the main module gets a probe, except straight code that the
compiler inlines. The program then measures nothing until it runs with COREHOUR_SAMPLE=0.01 or corehour
exec. A method file selects functions, and its rates hold from the start. See docs/guides/instrument.md.`,
		Example: `  corehour go build -o shop ./cmd/shop
  corehour go --methods methods.json test ./...
  corehour go --task part --root shop/web.Handler.Serve build ./cmd/shop
  corehour go --dry-run build ./cmd/shop`,
		Annotations:       exits("0 built; other codes are those of the go command\n2 failed before the go command ran"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	var s instrument.Settings
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&s.Methods, "methods", "", "method `file` that names what gets a probe; it is compiled in")
	f.StringVar(&s.Task, "task", "", "compile a method file in for a `task`: whole, part or start-up")
	f.StringArrayVar(&s.Roots, "root", nil, "`class.method` whose calls are measured with all that they call, for --task part; repeatable")
	f.Lookup("root").DefValue = ""
	f.BoolVar(&s.DryRun, "dry-run", false, "print each function, and whether it would get a probe; build nothing")
	f.BoolVar(&s.Diff, "diff", false, "print how the files would change; build nothing")
	f.BoolVar(&s.Exact, "exact", false, "ask the compiler which functions it inlines, which builds once more, instead of an estimate")
	f.BoolVar(&s.Quiet, "quiet", false, "print no summary")
	return withWork(cmd, func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		return instrument.Run(ctx, s, f.Args(), stdout, stderr)
	})
}

func newProbesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "probes [flags] BINARY",
		Short: "List the functions of a binary that have a probe",
		Long: `Lists what corehour go build compiled into a binary, for any platform, stripped or not: the name of
each function with a probe. Entries of a method file name it by class and method, and may add the
signature.`,
		Example: `  corehour probes ./shop
  corehour probes --signatures ./shop
  corehour probes --graph ./shop`,
		Annotations: exits("0 listed\n1 the binary has no probes, or no graph\n2 failed: not readable"),
	}
	f := cmd.Flags()
	signatures := f.Bool("signatures", false, "print the types of parameters and results, too, as the source has them")
	graph := f.Bool("graph", false, "print what calls what instead, by a line each: directly, or through functions without a probe")
	return withWork(cmd, func(_ context.Context, stdout, stderr io.Writer) (int, error) {
		if f.NArg() != 1 {
			return exitFailed, fmt.Errorf("want one BINARY, found %d arguments", f.NArg())
		}
		if *graph {
			return printGraph(f.Arg(0), stdout, stderr)
		}
		probes, err := instrument.Probes(f.Arg(0))
		if err != nil {
			return exitFailed, err
		}
		if len(probes) == 0 {
			fmt.Fprintf(stderr, "%s has no probes: build it with corehour go build\n", output.Printable(f.Arg(0)))
			return exitFound, nil
		}
		var b strings.Builder
		for _, p := range probes {
			b.WriteString(output.Printable(p.Name))
			if *signatures {
				b.WriteString(output.Printable(p.Signature))
			}
			if p.WallOnly {
				b.WriteString("  wall time only")
			}
			b.WriteByte('\n')
		}
		_, err = io.WriteString(stdout, b.String())
		return exitNothing, err
	})
}

// printGraph prints the call graph of the binary's scopes.
func printGraph(path string, stdout, stderr io.Writer) (int, error) {
	edges, err := instrument.Graph(path)
	if err != nil {
		return exitFailed, err
	}
	if len(edges) == 0 {
		fmt.Fprintf(stderr, "%s has no call graph: build it with corehour go and a method file with an entry whose scope is eager or lazy\n", output.Printable(path))
		return exitFound, nil
	}
	var b strings.Builder
	for _, e := range edges {
		fmt.Fprintf(&b, "%s -> %s\n", output.Printable(e.Caller), output.Printable(e.Callee))
	}
	_, err = io.WriteString(stdout, b.String())
	return exitNothing, err
}
