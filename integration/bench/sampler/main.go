// Command sampler measures the adaptive sampler: CPU seconds per million spans with the strategy
// budget, next to the stock probabilistic sampler in the same run, and memory when ten million
// methods are offered.
//
//	sampler --root .. --out ../build/bench --rounds 5
//
// It runs the Go benchmarks of the processor, which alternate the two samplers, and parses their
// output. Only the ratio is comparable between machines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/corehour/corehour/test/figures"
)

const (
	cpuGoal   = 0.5 // as a share of the stock sampler's
	processor = "./processor/adaptivesampler"
)

func main() {
	root := flag.String("root", "..", "directory of the repository")
	out := flag.String("out", "../build/bench", "directory for the figures")
	rounds := flag.Int("rounds", 20, "rounds of 50,000 spans each, the two samplers in turn in each")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runBenchmark(ctx, *root, *out, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "sampler:", err)
		os.Exit(1)
	}
}

func runBenchmark(ctx context.Context, root, out string, rounds int) error {
	if rounds < 1 {
		return fmt.Errorf("--rounds must be at least 1, found %d", rounds)
	}
	report := figures.New("sampler")
	if err := addCPU(ctx, report, root, rounds); err != nil {
		return err
	}
	if err := addMemory(ctx, report, root); err != nil {
		return err
	}
	return errors.Join(report.Print(os.Stdout), report.Write(out))
}

// addCPU compares the samplers where all spans are kept, the usual case once SDKs have their rates,
// and where nine tenths are dropped.
func addCPU(ctx context.Context, report *figures.Run, root string, rounds int) error {
	found, err := bench(ctx, root, processor, "^BenchmarkBudgetBesidePeer$", rounds)
	if err != nil {
		return err
	}
	for _, c := range []struct{ name, figure, peer string }{
		{"BudgetBesidePeer/kept", "sampler CPU, all kept", "probabilistic_sampler 100%"},
		{"BudgetBesidePeer/thinned", "sampler CPU, a tenth kept", "probabilistic_sampler 10%"},
	} {
		ours, peer, err := found.two(c.name, "cpu-s/M", "peer-cpu-s/M")
		if err != nil {
			return err
		}
		report.Compare(c.figure, ours, "CPU-s/M spans", c.peer, peer, figures.Lower, figures.Goal(cpuGoal))
	}
	return nil
}

// addMemory reports the memory of 100,000 methods of each of 100 services at the default bound, and
// the memory per method at ten times that bound.
func addMemory(ctx context.Context, report *figures.Run, root string) error {
	found, err := bench(ctx, root, processor, "^BenchmarkMemory$", 1)
	if err != nil {
		return err
	}
	for _, bound := range []string{"50000", "500000"} {
		total, each, err := found.two("Memory/"+bound, "MiB", "B/method")
		if err != nil {
			return err
		}
		offered := map[string]string{"50000": "100 x 100,000", "500000": "100 x 10,000"}[bound]
		report.Add("memory, "+offered+" methods offered, max_methods "+bound, total, "MiB", figures.Lower, nil)
		report.Add("memory of a method that has a place, max_methods "+bound, each, "B", figures.Lower, nil)
	}
	return nil
}
