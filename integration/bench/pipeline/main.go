// Command pipeline measures the collector's CPU seconds per million received spans: of our whole
// pipeline, which keeps everything, and of a stock receiver that drops everything. They alternate
// in one run; the kernel accounts for each process.
//
//	pipeline --bin ../bin --out ../build/bench --spans 1000000 --rounds 3
//
// With --against it compares our pipeline with the collector of another commit instead.
//
// Only the ratio is comparable between machines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/corehour/corehour/test/figures"
)

const (
	ratioGoal    = 1.6
	previewsGoal = 1.03
)

func main() {
	bin := flag.String("bin", "../bin", "directory of corehour-collector")
	out := flag.String("out", "../build/bench", "directory for the figures")
	spans := flag.Int("spans", 1_000_000, "spans sent to each collector in a round")
	perSecond := flag.Int("rate", 60_000, "spans sent per second")
	rounds := flag.Int("rounds", 3, "rounds, the collectors in turn in each")
	against := flag.String("against", "", "collector of another commit to compare with, in turn, by spans of our SDK and of stock ones")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	compare := runBenchmark
	if *against != "" {
		compare = func(ctx context.Context, bin, out string, spans, perSecond, rounds int) error {
			return runAgainst(ctx, *against, bin, out, spans, perSecond, rounds)
		}
	}
	if err := compare(ctx, *bin, *out, *spans, *perSecond, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		os.Exit(1)
	}
}

func runBenchmark(ctx context.Context, bin, out string, spans, perSecond, rounds int) error {
	if spans < batchSpans || perSecond < 1 || rounds < 1 {
		return fmt.Errorf("--spans must be at least %d, --rate and --rounds at least 1, found %d, %d and %d", batchSpans, spans, perSecond, rounds)
	}
	scratch, err := os.MkdirTemp("", "corehour-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)

	var stock, ours, plain []usage
	for round := range rounds {
		for _, p := range []struct {
			name string
			to   *[]usage
		}{{"stock", &stock}, {"ours", &ours}, {withoutPreviews, &plain}} {
			dir := filepath.Join(scratch, fmt.Sprintf("%s-%d", p.name, round))
			u, err := measure(ctx, filepath.Join(bin, "corehour-collector"), p.name, dir, spans, perSecond, false)
			if err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, p.name, err)
			}
			fmt.Fprintf(os.Stderr, "round %d of %d: %-13s %.2f CPU-s per million spans, %d MB at the peak\n", round+1, rounds, p.name, u.cpuPerMillion, u.peakBytes>>20)
			*p.to = append(*p.to, u)
		}
	}

	report := figures.New("pipeline")
	cpu := func(u usage) float64 { return u.cpuPerMillion }
	report.Compare("collector CPU, everything kept", median(ours, cpu), "CPU-s/M spans", "stock otlp -> nop", median(stock, cpu), figures.Lower, figures.Goal(ratioGoal))
	report.Compare("collector CPU with previews", median(ours, cpu), "CPU-s/M spans", "without", median(plain, cpu), figures.Lower, figures.Goal(previewsGoal))
	peak := func(u usage) float64 { return float64(u.peakBytes) / (1 << 20) }
	report.Compare("peak memory", median(ours, peak), "MiB", "stock otlp -> nop", median(stock, peak), figures.Lower, nil)
	report.Add("bytes per row on disk", median(ours, func(u usage) float64 { return u.bytesPerRow }), "B", figures.Lower, nil)
	report.Add("rows stored per span sent", median(ours, func(u usage) float64 { return u.stored }), "", figures.Higher, figures.Goal(1))
	return errors.Join(report.Print(os.Stdout), report.Write(out))
}

func median(all []usage, of func(usage) float64) float64 {
	values := make([]float64, len(all))
	for i, u := range all {
		values[i] = of(u)
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}
