package docs_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
)

const samplingPage = "docs/background/sampling.md"

func TestSamplingPage_ThresholdTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("| p | `th` | p of that threshold |\n|---|---|---|\n")
	for _, p := range []float64{1, 0.5, 0.1, 0.01, 0.001} {
		th := methodspan.ThresholdOf(p)
		back := th.Probability()
		if math.Abs(back-p) > 1e-12*p+1.0/(1<<56) {
			t.Errorf("p %v became %v", p, back)
		}
		fmt.Fprintf(&b, "| %v | `%s` | %.12g |\n", p, th.TValue(), back)
	}
	compareComputed(t, samplingPage, "thresholds", b.String())
}

// group is a number of equal measurements.
type group struct {
	records int64
	q       float64
	cpuMS   float64
}

// groups is the example of docs/background/sampling.md: one minute of one method.
var groups = []group{{40, 0.01, 2}, {5, 0.005, 3}}

const (
	calls = 5200.0
	price = 0.04 // USD per core hour
)

func TestSamplingPage_WeightExample(t *testing.T) {
	var sum, sumSquares, records, plainMS float64
	for _, g := range groups {
		n := float64(g.records)
		sum += n / g.q
		sumSquares += n / (g.q * g.q)
		records += n
		plainMS += n * g.cpuMS
	}
	nEff := sum * sum / sumSquares
	if nEff < 20 {
		t.Fatalf("n_eff is %v: the example would not be a minute cell", nEff)
	}

	var b strings.Builder
	b.WriteString("| records | q | CPU each | weight of each | CPU represented |\n|---|---|---|---|---|\n")
	var totalMS float64
	for _, g := range groups {
		w := calls * (1 / g.q) / sum
		stands := w * float64(g.records) * g.cpuMS
		totalMS += stands
		fmt.Fprintf(&b, "| %d | %v | %v ms | %.0f | %.2f s |\n", g.records, g.q, g.cpuMS, w, stands/1000)
	}
	plain := calls * plainMS / records
	fmt.Fprintf(&b, "\nn_eff = %.1f, so the minute is a cell. Total: %.2f s of CPU, or %.6f USD at %v USD per core hour.\nCalls times the plain mean: %.2f s, an error of %.1f%%.\n",
		nEff, totalMS/1000, totalMS/1000*price/3600, price, plain/1000, 100*(plain/totalMS-1))
	compareComputed(t, samplingPage, "weights", b.String())
}

func TestSamplingPage_AddingExample(t *testing.T) {
	rows := []methodspan.Row{
		{Kind: methodspan.KindAggregate, Measured: 10, CPUMeasured: 5, WallNS: 30e6, CPUNS: 10e6, P: 0.1, CPUP: 0.5},
		{Kind: methodspan.KindAggregate, Measured: 30, CPUMeasured: 3, WallNS: 120e6, CPUNS: 9e6, P: 0.5, CPUP: 0.1},
	}
	var b strings.Builder
	b.WriteString("| row | measured | p | wall | calls represented | wall represented | cpu_measured | q | CPU | CPU represented |\n|---|---|---|---|---|---|---|---|---|---|\n")
	line := func(name string, r *methodspan.Row) (calls, wall, cpu float64) {
		q := r.Q()
		calls, wall, cpu = float64(r.Measured)/r.P, float64(r.WallNS)/r.P/1e6, float64(r.CPUNS)/q/1e6
		fmt.Fprintf(&b, "| %s | %d | %.4g | %.4g ms | %.4g | %.4g ms | %d | %.4g | %.4g ms | %.4g ms |\n",
			name, r.Measured, r.P, float64(r.WallNS)/1e6, calls, wall, r.CPUMeasured, q, float64(r.CPUNS)/1e6, cpu)
		return
	}
	var sum methodspan.Sum
	var calls, wall, cpu float64
	for i := range rows {
		c, w, p := line([]string{"first", "second"}[i], &rows[i])
		calls, wall, cpu = calls+c, wall+w, cpu+p
		sum.Add(&rows[i])
	}
	added := sum.Row()
	c, w, p := line("sum", &added)
	for _, pair := range [][2]float64{{c, calls}, {w, wall}, {p, cpu}} {
		if math.Abs(pair[0]/pair[1]-1) > 1e-6 {
			t.Errorf("the sum stands for %v, its parts for %v", pair[0], pair[1])
		}
	}
	compareComputed(t, samplingPage, "adding", b.String())
}
