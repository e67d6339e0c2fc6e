// Command bench measures the paths of a probe beside the OpenTelemetry SDK and
// beside the floors they stand on, in interleaved rounds of one run, and prints
// every figure with its goal.
//
//	bench --out ../../build/bench --rounds 400
//
// A path is timed in batches of some 200 us; its figure is the median of its
// batches, less that of the bare method. Only ratios mean something on another
// machine, and only those of a machine that is not busy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/corehour/corehour/internal/figures"
	"github.com/corehour/corehour/sdk"
)

func main() {
	out := flag.String("out", "../../build/bench", "directory for the figures")
	rounds := flag.Int("rounds", 400, "batches of each path")
	spans := flag.Int("spans", 40_000, "records and spans exported")
	flag.Parse()
	if err := run(*out, *rounds, *spans); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(out string, rounds, spans int) error {
	sink := newSink()
	defer sink.Close()
	report := figures.New("sdk")
	// Large batches keep the sender out of most rounds.
	if err := with(sink, waitingMost, func() error {
		warmUp()
		paths(report, newPeers(), rounds)
		memory(report)
		allocations(report)
		counts(report)
		return nil
	}); err != nil {
		return err
	}
	if err := with(sink, recordsPerBatch, func() error { return export(report, sink, spans) }); err != nil {
		return err
	}
	if err := report.Print(os.Stdout); err != nil {
		return err
	}
	return report.Write(out)
}

// with runs f while the SDK sends to the sink in batches of so many records.
func with(s *sink, batch int, f func() error) error {
	shutdown, err := corehour.Start(context.Background(),
		corehour.WithEndpoint(s.URL), corehour.WithService("bench", "1"),
		corehour.WithFlush(5*time.Second, batch))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(f(), shutdown(ctx))
}
