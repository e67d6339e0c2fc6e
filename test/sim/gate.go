package sim

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/corehour/corehour/regression/stats"
)

// Gated contains the results for intervals that pass or fail a gate, in percent.
type Gated struct {
	Printed float64 // share of all samples with a printed interval
	Covered float64 // share of printed intervals that contain the true mean
	Lower   float64 // share of refused samples with a lower bound at or below the true mean
}

// GateCosts returns the distributions of the coverage table, and heavy tails around the exponent at which
// the variance becomes infinite.
func GateCosts() []Cost {
	pareto := func(a float64) Cost {
		return Cost{fmt.Sprintf("Pareto %g", a), a / (a - 1), nil, func(r *rand.Rand) float64 { return math.Exp(r.ExpFloat64() / a) }}
	}
	return append(Costs(), pareto(1.3), pareto(1.8), pareto(2.2), pareto(3))
}

// Gate draws samples of size records per day. The gate sees history days, the interval only the first.
func Gate(cost Cost, size, history, trials int, seed uint64) Gated {
	r := source(seed, uint64(size*10+history), "gate "+cost.Name)
	var printed, covered, refused, lower float64
	for range trials {
		var drawn []float64
		sample := stats.Sample{Calls: 1e9, Records: float64(size), Octaves: stats.Octaves{}}
		for day := range history {
			for range size {
				x := cost.draw(r)
				if day == 0 {
					drawn = append(drawn, x)
				}
				sample.Powers.Add(stats.Powers{N: 1, X: x, XX: x * x, XXX: x * x * x})
				sample.Octaves.Add(stats.Octaves{int(math.Floor(2 * math.Log2(x))): {Records: 1, N: 1, Logs: math.Log(x)}})
			}
		}
		if tail := stats.TailOf(sample); !tail.Few && !tail.Open {
			printed++
			if _, interval := skewed(drawn, 0.95, tail.Skewness); interval.Low <= cost.Mean && cost.Mean <= interval.High {
				covered++
			}
		} else {
			refused++
			if _, wide := hall(drawn, 0.99); wide.Low <= cost.Mean {
				lower++
			}
		}
	}
	return Gated{100 * printed / float64(trials), 100 * covered / max(1, printed), 100 * lower / max(1, refused)}
}

// GateGoals adds the results of the gate per distribution, averaged over the sample sizes. The gate knows either
// 7 days of records or, as in a new service, one day.
func (t *Table) GateGoals(seed uint64, trials int) {
	for _, cost := range GateCosts() {
		for _, history := range []int{1, 7} {
			var printed, covered, refused, lower, all float64
			for _, size := range Sizes {
				if history*size > 20_000 {
					continue
				}
				g := Gate(cost, size, history, trials, seed)
				all += 100
				printed, covered = printed+g.Printed, covered+g.Printed*g.Covered/100
				refused, lower = refused+100-g.Printed, lower+(100-g.Printed)*g.Lower
			}
			name := fmt.Sprintf("interval of %s, records of %d days known", cost.Name, history)
			t.Lower(name+": printed", 100*printed/all, "%", None)
			if printed > 0 {
				t.Higher(name+": holds the truth where printed", 100*covered/printed, "%", None)
			}
			t.Lower(name+": printed without the truth, of all samples", 100*(printed-covered)/all, "%", 7+ownError(all*float64(trials)/100))
			t.Higher(name+": lower bound is below the truth", lower/max(1e-9, refused), "%", 97.5-ownError(refused*float64(trials)/100))
		}
	}
}

// ownError returns twice the standard error of a share of 95% measured on n samples, in percentage points.
func ownError(n float64) float64 { return 200 * math.Sqrt(0.95*0.05/max(1, n)) }
