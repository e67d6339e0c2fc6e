// Command bench measures the paths of a probe next to the OpenTelemetry SDK, the
// Prometheus client and the floors they stand on, in interleaved rounds of one run,
// and prints every figure with its goal.
//
//	bench --out ../../build/bench --rounds 400
//	bench --moobench    recursion in the manner of MooBench, over ten process starts
//	bench --harmless    throughput of a service whose collector fails
//
// Without either it measures the paths, and both others in a short form. A path is
// timed in batches of some 200 us; its figure is the median of its batches, less
// that of the bare method. Only ratios mean something on another machine, and only
// those of a machine that is not busy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/corehour/corehour/sdk"
	"github.com/corehour/corehour/test/figures"
)

// oneStartFlag is the flag with which the program starts itself.
const oneStartFlag = "--one-start"

type options struct {
	out                        string
	rounds, spans              int
	starts, pairs              int
	moobenchOnly, harmlessOnly bool
	busy                       time.Duration // before paths and variants are measured
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "../../build/bench", "directory for the figures")
	flag.IntVar(&o.rounds, "rounds", 0, "batches of each path (400), or of each variant in a process start (60, short 30)")
	flag.IntVar(&o.spans, "spans", 40_000, "records and spans exported")
	flag.IntVar(&o.starts, "starts", 0, "process starts of --moobench (10, short 3)")
	flag.IntVar(&o.pairs, "pairs", 0, "pairs of slices of --harmless (600, short 150)")
	flag.BoolVar(&o.moobenchOnly, "moobench", false, "measure recursion over process starts, in full, and nothing else")
	flag.BoolVar(&o.harmlessOnly, "harmless", false, "measure a service's throughput, in full, and nothing else")
	flag.DurationVar(&o.busy, "busy", noticed, "how long everything is called before it is measured")
	start := flag.Bool(oneStartFlag[2:], false, "be one process start of --moobench: print its values as JSON")
	flag.Parse()
	err := os.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip") // the default, but for a sink on this machine
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if *start {
		err = oneStart(os.Stdout, o.rounds, o.busy)
	} else {
		err = runBenchmarks(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func runBenchmarks(o options) error {
	switch {
	case o.moobenchOnly:
		return show(o.out)(moobench(or(o.starts, 10), or(o.rounds, 60), o.busy))
	case o.harmlessOnly:
		return show(o.out)(harmless(or(o.pairs, 600)))
	}
	return errors.Join(
		show(o.out)(allPaths(or(o.rounds, 400), o.spans, o.busy)),
		show(o.out)(moobench(or(o.starts, 3), min(30, or(o.rounds, 30)), o.busy)),
		show(o.out)(harmless(or(o.pairs, 150))),
	)
}

func or(given, otherwise int) int {
	if given > 0 {
		return given
	}
	return otherwise
}

func show(dir string) func(*figures.Run, error) error {
	return func(report *figures.Run, err error) error {
		if err != nil {
			return err
		}
		return errors.Join(report.Print(os.Stdout), report.Write(dir))
	}
}

func allPaths(rounds, spans int, busy time.Duration) (*figures.Run, error) {
	sink := newSink()
	defer sink.Close()
	report := figures.New("sdk")
	// Large batches keep the sender out of most rounds.
	if err := with(sink, waitingMost, func() error {
		warmUp(busy)
		paths(report, newPeers(), rounds)
		memory(report)
		allocations(report)
		counts(report)
		return nil
	}); err != nil {
		return nil, err
	}
	if err := truth(report); err != nil {
		return nil, err
	}
	if err := with(sink, recordsPerBatch, func() error { return export(report, sink, spans) }); err != nil {
		return nil, err
	}
	return report, encoding(report)
}

// with runs f while the SDK sends to the sink in batches of so many records.
func with(s *sink, batch int, f func() error, more ...corehour.Option) error {
	shutdown, err := corehour.Start(context.Background(), append([]corehour.Option{
		corehour.WithEndpoint(s.URL), corehour.WithService("bench", "1"),
		corehour.WithFlush(5*time.Second, batch)}, more...)...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(f(), shutdown(ctx))
}
