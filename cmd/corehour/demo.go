package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/config"
	"github.com/corehour/corehour/internal/demo"
)

const demoUsage = `Runs a collector, a shop in two releases and the job, here and for about two
minutes, and shows a bad release being found. It needs corehour-collector and
corehour-shop beside this binary (make build puts them there), leaves its files
in --dir and no process behind.`

func runDemo(ctx context.Context, args []string, stdout, _ io.Writer) (int, error) {
	own, err := os.Executable()
	if err != nil {
		return exitFailed, err
	}
	s := demo.Settings{Out: stdout, Config: config.Collector, Prices: config.Prices, Patience: time.Minute}
	f := newFlags("demo", "", demoUsage, stdout)
	f.StringVar(&s.Dir, "dir", filepath.Join("build", "demo"), "`directory` for its files; an earlier demo's are replaced")
	f.StringVar(&s.Binaries, "bin", filepath.Dir(own), "`directory` of the binaries")
	f.StringVar(&s.HTTP, "http", "localhost:4318", "`address` where the collector listens to OTLP over HTTP")
	f.StringVar(&s.GRPC, "grpc", "localhost:4317", "`address` where it listens to OTLP over gRPC")
	f.StringVar(&s.Rates, "rates", "localhost:4319", "`address` where SDKs ask it for rates")
	f.StringVar(&s.Health, "health", "localhost:13133", "`address` of its health check")
	f.StringVar(&s.Metrics, "metrics", "localhost:8888", "`address` of its own metrics")
	f.Float64Var(&s.Rate, "rate", 60, "`requests` per second of each shop instance")
	f.DurationVar(&s.Before, "before", 40*time.Second, "`duration` that release 1.0 serves alone")
	f.DurationVar(&s.After, "after", 90*time.Second, "`duration` that both releases serve until the job must have found the slower one")
	f.Float64Var(&s.Threshold, "threshold", 20, "change per call that the job raises, in `percent`")
	if err := parseFlags(f, args); err != nil {
		return exitFailed, err
	}
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
	if err := errors.Join(faults...); err != nil {
		return exitFailed, err
	}
	return exitNothing, demo.Run(ctx, s)
}
