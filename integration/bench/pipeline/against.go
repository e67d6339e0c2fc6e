package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/corehour/corehour/test/figures"
)

// againstGoal is the highest accepted ratio of CPU to that of another commit's collector.
const againstGoal = 1.03

// runAgainst measures two collectors in alternating order. Ratios are within a round, so changes of
// the machine affect both.
func runAgainst(ctx context.Context, other, bin, out string, spans, perSecond, rounds int) error {
	if rounds < 3 {
		return fmt.Errorf("--rounds must be at least 3 with --against, found %d", rounds)
	}
	scratch, err := os.MkdirTemp("", "corehour-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	report := figures.New("pipeline-against")
	for kind, foreign := range map[string]bool{"spans of our SDK": false, "spans of a stock SDK": true} {
		binaries := []string{filepath.Join(bin, "corehour-collector"), other}
		var used [2][]usage
		var ratios []float64
		for round := range rounds {
			for turn := range 2 {
				i := (round + turn) % 2
				dir := filepath.Join(scratch, fmt.Sprintf("%v-%d-%d", foreign, round, i))
				u, err := measure(ctx, binaries[i], either, dir, spans, perSecond, foreign)
				if err != nil {
					return fmt.Errorf("round %d, %s: %w", round+1, binaries[i], err)
				}
				used[i] = append(used[i], u)
				if err := os.RemoveAll(dir); err != nil {
					return err
				}
			}
			ours, others := used[0][round].cpuPerMillion, used[1][round].cpuPerMillion
			ratios = append(ratios, math.Log(ours/others))
			fmt.Fprintf(os.Stderr, "%s, round %d of %d: %.3f and %.3f CPU-s per million spans\n", kind, round+1, rounds, ours, others)
		}
		mean, deviation := stat.MeanStdDev(ratios, nil)
		t := distuv.StudentsT{Sigma: 1, Nu: float64(rounds - 1)}.Quantile(0.95)
		cpu := func(u usage) float64 { return u.cpuPerMillion }
		report.Compare(kind+": collector CPU", median(used[0], cpu), "CPU-s/M spans", "the other commit", median(used[1], cpu), figures.Lower, nil)
		report.Add(kind+": upper 95% bound of the ratio", math.Exp(mean+t*deviation/math.Sqrt(float64(rounds))), "", figures.Lower, figures.Goal(againstGoal))
	}
	return errors.Join(report.Print(os.Stdout), report.Write(out))
}
