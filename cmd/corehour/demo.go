package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/corehour/corehour/internal/demo"
)

func newDemoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Run a demo: a bad release is found within two minutes",
		Long: `Runs a collector, a shop in two releases and corehour regress on this machine for about two minutes,
and shows how the slower release is found. It needs corehour-collector and corehour-shop next to
this binary (make build puts them there). It leaves its files in --dir, and no process.`,
		Example: `  corehour demo
  corehour demo --http localhost:14318 --grpc localhost:14317`,
		Annotations:       exits("0 the slower release was found\n2 failed"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	s := demo.Settings{Patience: time.Minute}
	f := cmd.Flags()
	f.StringVar(&s.Dir, "dir", filepath.Join("build", "demo"), "`directory` for its files; those of an earlier demo are replaced")
	declareBinaries(f, &s.Binaries)
	f.StringVar(&s.HTTP, "http", "localhost:4318", "`address` where the collector listens to OTLP over HTTP")
	f.StringVar(&s.GRPC, "grpc", "localhost:4317", "`address` where the collector listens to OTLP over gRPC")
	f.StringVar(&s.Rates, "rates", "localhost:4319", "`address` where SDKs ask the collector for rates")
	f.StringVar(&s.Health, "health", "localhost:13133", "`address` of the collector's health check")
	f.StringVar(&s.Metrics, "metrics", "localhost:8888", "`address` of the collector's own metrics")
	f.Float64Var(&s.Rate, "rate", 60, "`requests` per second of each shop instance")
	f.DurationVar(&s.Before, "before", 40*time.Second, "`duration` that release 1.0 serves alone")
	f.DurationVar(&s.After, "after", 90*time.Second, "`duration` that both releases serve, within which regress must find the slower one")
	f.Float64Var(&s.Threshold, "threshold", 20, "`percent` by which a call must be slower to be raised")
	return withWork(cmd, func(ctx context.Context, stdout, _ io.Writer) (int, error) {
		s.Out = stdout
		if err := checkDemo(f, &s); err != nil {
			return exitFailed, err
		}
		return exitNothing, demo.Run(ctx, s)
	})
}

// declareBinaries declares the flag with the directory of the other programs.
func declareBinaries(f *pflag.FlagSet, directory *string) {
	if own, err := os.Executable(); err == nil {
		*directory = filepath.Dir(own)
	}
	f.StringVar(directory, "bin", *directory, "`directory` of the binaries")
}

func checkDemo(f *pflag.FlagSet, s *demo.Settings) error {
	var faults []error
	if f.NArg() > 0 {
		faults = append(faults, fmt.Errorf("want flags only, found the argument %q", f.Arg(0)))
	}
	if !(s.Rate > 0) {
		faults = append(faults, fmt.Errorf("--rate: want more than 0, found %v", s.Rate))
	}
	if s.Before < 10*time.Second || s.After < 10*time.Second {
		faults = append(faults, fmt.Errorf("--before and --after: want at least 10s, found %s and %s", s.Before, s.After))
	}
	if !(s.Threshold > 0) {
		faults = append(faults, fmt.Errorf("--threshold: want more than 0, found %v", s.Threshold))
	}
	return errors.Join(faults...)
}
