// Command soak offers a real collector twice the load that one core can take, for minutes, and
// records its memory.
//
//	soak --bin ../bin --out ../build/bench --for 10m
//
// First it measures the collector's CPU per measurement. Then a new collector, limited to one core,
// is offered twice the load of one core by processes that retry refused requests until they are
// accepted, as SDKs do, and drop measurements that no process is free to carry. At the end the
// stored and the reported lost measurements must add up to the sent ones, and `corehour check` must
// find no missing calls.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/integration/harness"
	"github.com/corehour/corehour/test/figures"
)

const (
	overload    = 2.0 // times the load of one core
	memoryGoal  = 1.1 // last quarter divided by first quarter
	shortest    = 30 * time.Second
	calibration = 10 * time.Second
)

func main() {
	bin := flag.String("bin", "../bin", "directory of corehour and corehour-collector")
	out := flag.String("out", "../build/bench", "directory for the figures")
	length := flag.Duration("for", 10*time.Minute, "how long to offer load")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := runSoak(ctx, *bin, *out, *length)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func runSoak(ctx context.Context, bin, out string, length time.Duration) error {
	if length < shortest {
		return fmt.Errorf("--for must be at least %s, found %s", shortest, length)
	}
	scratch, err := os.MkdirTemp("", "corehour-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)

	capacity, err := calibrate(ctx, bin, filepath.Join(scratch, "calibration"))
	if err != nil {
		return fmt.Errorf("finding out what one core can take: %w", err)
	}
	fmt.Fprintf(os.Stderr, "one core takes %.0f measurements per second: offering %.0f for %s\n", capacity, overload*capacity, length)

	c, err := startCollector(ctx, bin, filepath.Join(scratch, "soak"))
	if err != nil {
		return err
	}
	defer c.Close()
	watch := watchMemory(c.Process().Pid())
	sent, err := offer(ctx, c.GRPC, int(overload*capacity), length)
	if err != nil {
		return errors.Join(err, errors.New(c.Process().LastLines(20)))
	}
	memory, err := watch.end()
	if err != nil {
		return err
	}
	metrics, err := c.Scrape(ctx)
	if err != nil {
		return err
	}
	if err := c.Stop(); err != nil {
		return err
	}
	command := harness.Command{Binary: filepath.Join(bin, harness.CommandBinary), Warehouse: c.Warehouse}
	found, err := reconcile(ctx, command, sent, metrics)
	if err != nil {
		return err
	}

	report := figures.New("soak")
	report.Add("offered, of what one core can take", float64(sent.offered())/length.Seconds()/capacity, "", figures.Higher, figures.Goal(overload*0.98))
	report.Add("measurements offered", float64(sent.offered()), "", figures.Higher, nil)
	report.Add("measurements taken", float64(sent.measured), "", figures.Higher, nil)
	report.Add("measurements that no process was free to carry", float64(sent.heldBack), "", figures.Lower, nil)
	report.Add("requests refused by the collector, sent again", float64(sent.refused), "", figures.Lower, nil)
	report.Add("requests of unknown outcome, sent again", float64(sent.unknown), "", figures.Lower, nil)
	report.Add("measurements aggregated on overflow", metrics.Sum("otelcol_exporter_warehouse_measurements_folded"), "", figures.Lower, nil)
	report.Add("measurements dropped, counted", found.lost, "", figures.Lower, nil)
	report.Add("measurements unaccounted for", found.unaccounted, "", figures.Lower, figures.Goal(0))
	report.Add("calls unaccounted for", found.calls, "", figures.Lower, figures.Goal(0))
	report.Add("faults that the check finds", float64(found.faults), "", figures.Lower, figures.Goal(0))
	report.Add("memory, first quarter", memory.first, "MiB", figures.Lower, nil)
	report.Add("memory, last quarter", memory.last, "MiB", figures.Lower, nil)
	report.Add("memory at the peak", memory.peak, "MiB", figures.Lower, nil)
	report.Add("memory, last quarter by first", memory.last/memory.first, "", figures.Lower, figures.Goal(memoryGoal))
	return errors.Join(report.Print(os.Stdout), report.Write(out))
}

// overrides adds the memory limiter of the shipped configuration, and lets every run of
// maintenance, the first after a minute, find files to merge. A collector that merges takes more
// memory than one that does not, so each quarter should have the same share of merging.
const overrides = `
exporters:
  warehouse:
    maintenance: {max_files: 10}
processors:
  memory_limiter: {check_interval: 1s, limit_mib: 512, spike_limit_mib: 128}
service:
  pipelines:
    traces:
      processors: [memory_limiter, adaptive_sampler, cost_attribution]
`

func startCollector(ctx context.Context, bin, dir string) (*harness.Collector, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	c, err := harness.NewCollector(filepath.Join(bin, harness.CollectorBinary), dir, "", overrides)
	if err != nil {
		return nil, err
	}
	c.Env = []string{"GOMAXPROCS=1"}
	return c, c.Start(ctx)
}

// calibrate returns how many measurements a second one core handles.
func calibrate(ctx context.Context, bin, dir string) (float64, error) {
	c, err := startCollector(ctx, bin, dir)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	before, err := harness.CPUOf(c.Process().Pid())
	if err != nil {
		return 0, err
	}
	// Enough load to keep it busy, and too little to fill its queue.
	sent, err := offer(ctx, c.GRPC, 30_000, calibration)
	if err != nil {
		return 0, err
	}
	if err := c.Stop(); err != nil {
		return 0, err
	}
	return float64(sent.measured) / (c.Process().CPU() - before).Seconds(), nil
}
