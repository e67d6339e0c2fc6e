package sim

import (
	"math"
	"math/rand/v2"
	"sync"
)

// Cost is a distribution of the CPU time of one call.
type Cost struct {
	Name string
	Mean float64
	// Goals are the goals for the coverage of Hall's interval, in percent, one per entry of Sizes.
	Goals []float64
	draw  func(r *rand.Rand) float64
}

// Sizes are the sample sizes (numbers of records) of the coverage table.
var Sizes = []int{10_000, 1_000, 300, 100}

// Costs returns the distributions of the coverage table.
func Costs() []Cost {
	lognormal := func(name string, s float64, goals ...float64) Cost {
		return Cost{name, math.Exp(s * s / 2), goals, func(r *rand.Rand) float64 { return math.Exp(s * r.NormFloat64()) }}
	}
	return []Cost{
		lognormal("lognormal s=1", 1, 94.9, 93.1, 93.8, 93.9),
		lognormal("lognormal s=1.5", 1.5, 93.4, 94.8, 91.8, 91.9),
		lognormal("lognormal s=2", 2, 91.5, 89.2, 89.8, 89.4),
		{"95/5 bimodal x30", 0.95 + 0.05*30, []float64{97.1, 95.0, 96.2, 96.6}, func(r *rand.Rand) float64 {
			if r.Float64() < 0.05 {
				return 30 * math.Exp(0.3*r.NormFloat64()-0.045)
			}
			return math.Exp(0.3*r.NormFloat64() - 0.045)
		}},
		{"Pareto 1.5", 3, []float64{85.7, 85.4, 87.0, 84.5}, func(r *rand.Rand) float64 {
			return math.Exp(r.ExpFloat64() / 1.5)
		}},
	}
}

// Coverage is the share of nominal 95% intervals that contain the true mean, in percent.
type Coverage struct{ Normal, Hall float64 }

// Cover measures the coverage for every combination of costs and sizes, with trials samples each.
// The result is indexed by cost, then by size.
func Cover(costs []Cost, sizes []int, trials int, seed uint64) [][]Coverage {
	out := make([][]Coverage, len(costs))
	for i := range out {
		out[i] = make([]Coverage, len(sizes))
	}
	var mutex sync.Mutex
	parallel(len(costs)*len(sizes), func() func(int) {
		return func(k int) {
			i, j := k/len(sizes), k%len(sizes)
			c := cover(costs[i], sizes[j], trials, source(seed, uint64(k), "coverage"))
			mutex.Lock()
			defer mutex.Unlock()
			out[i][j] = c
		}
	})
	return out
}

func cover(cost Cost, size, trials int, r *rand.Rand) Coverage {
	var c Coverage
	each, sample := 100/float64(trials), make([]float64, size)
	for range trials {
		for i := range sample {
			sample[i] = cost.draw(r)
		}
		estimate, interval := hall(sample, 0.95)
		if math.Abs(estimate.Value-cost.Mean) <= 1.959964*estimate.SE {
			c.Normal += each
		}
		if interval.Low <= cost.Mean && cost.Mean <= interval.High {
			c.Hall += each
		}
	}
	return c
}
