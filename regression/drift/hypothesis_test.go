package drift

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/corehour/corehour/regression/stats"
)

// noise returns test results of series of 56 days without a trend, with the autocorrelation rho(method).
func noise(seed uint64, methods int, rho func(int) float64) []testResult {
	r := rand.New(rand.NewPCG(seed, 4))
	out := make([]testResult, methods)
	for m := range out {
		y := make([]float64, window)
		last := r.NormFloat64()
		for d := range y {
			y[d] = last
			last = rho(m)*last + math.Sqrt(1-rho(m)*rho(m))*r.NormFloat64()
		}
		out[m] = test(points{values: y, whole: y})
	}
	return out
}

// With pooled autocorrelation, about one in a hundred series without a trend has a p-value below 1%. This holds
// whether the days of all, of no, or of some methods depend on each other.
func TestPoolRho_KeepsSignificanceLevel(t *testing.T) {
	for name, rho := range map[string]func(int) float64{
		"none": func(int) float64 { return 0 },
		"all":  func(int) float64 { return 0.4 },
		"some": func(m int) float64 { return 0.6 * float64(m%2) },
	} {
		const methods = 2000
		all := noise(1, methods, rho)
		poolRho(all)
		var squares, rare float64
		for _, m := range all {
			z := m.trend.S / math.Sqrt(m.trend.Variance)
			squares += z * z
			if m.trendP < 0.01 {
				rare++
			}
		}
		if sd, share := math.Sqrt(squares/methods), rare/methods; sd < 0.85 || sd > 1.1 || share < 0.004 || share > 0.02 {
			t.Errorf("%s: z has a deviation of %.3f, and %.2f%% are below 1%%", name, sd, 100*share)
		}
	}
	few := noise(2, commonMethods-1, func(int) float64 { return 0.4 })
	before := few[0].trend.Variance
	if poolRho(few); !(few[0].trend.Variance > 1.1*before) {
		t.Errorf("the variance of one of few methods is %v by its own autocorrelation and %v with the error of that", before, few[0].trend.Variance)
	}
}

// With few series a whole standard error is added to the pooled autocorrelation, with many much less.
func TestPool_CautiousByCount(t *testing.T) {
	for n, want := range map[int]float64{1: 1, commonMethods: 1, 2 * commonMethods: 0.8, 10 * commonMethods: 0.64} {
		var p pool
		for i := range n {
			p.addRho(0.3+0.4*float64(i%2), window)
		}
		value, se := p.shrink(0.5, window)
		if got := (p.cautious(0.5, window) - value) / se; math.Abs(got-want) > 1e-9 {
			t.Errorf("%d series: %v standard errors are added, want %v", n, got, want)
		}
	}
}

// Each p-value is divided by the weight of its statistic; the more precise statistic has the larger weight.
func TestSurer(t *testing.T) {
	of := func(p, spread float64) testResult {
		return testResult{trendP: p, stepP: p, trend: stats.Trend{P: p, Spread: spread}, step: stats.Step{P: p}, inTrend: points{values: []float64{p, spread}}}
	}
	for _, c := range []struct {
		cost, level testResult
		want        float64
	}{
		{of(0.01, 1), of(0.5, 1), 0.02},
		{of(0.5, 1), of(0.01, 1), 0.02},
		{of(0.5, 2), of(0.01, 1), 0.01 / 0.9},
		{of(0.01, 2), of(0.5, 1), 0.1},
		{of(0.5, 1), of(0.01, 10), 0.1},
		{of(0.01, 0), of(0.5, 0), 0.02},
		{of(0.9, 1), of(0.8, 1), 1},
	} {
		got := moreSignificant(c.cost, c.level)
		if math.Abs(got.trendP-c.want) > 1e-3 || math.Abs(got.stepP-c.want) > 1e-3 {
			t.Errorf("%v and %v: %v and %v, want %v", c.cost.trend, c.level.trend, got.trendP, got.stepP, c.want)
		}
	}
}
