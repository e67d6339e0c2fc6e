package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// The interval has its nominal coverage. The true value is simulated as the change, minus a shared change drawn from
// the posterior of the votes, minus an error of the change.
func TestSharedInterval_Coverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 41))
	for _, c := range []struct {
		votes                      int
		spread, variance, df, load float64
	}{
		{2, 0.3, 0.01, 3, 1}, {2, 1.5, 1e-6, 1.2, 1}, {5, 0.05, 0.04, 30, 1}, {40, 0.2, 0.001, 1e9, 0.7}, {3, 2, 4, 8, 1}, {1, 0.4, 1e-8, 500, 1},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			votes := make([]Vote, c.votes)
			for i := range votes {
				votes[i] = Vote{0.2 + c.spread*rng.NormFloat64(), 0.02, 5}
			}
			w := NewShared(votes, 0.01, 4).Without(-1)
			const change, draws = 0.4, 40000
			low, high := w.Interval(change, c.variance, c.df, c.load)
			if !(low < high) {
				t.Fatalf("%v to %v", low, high)
			}
			sd := math.Sqrt(FeltVariance(c.variance, c.load*w.Mean))
			below, above := 0, 0
			for range draws {
				at, u := 0, rng.Float64()
				for u -= w.weight[0]; u > 0 && at < len(w.weight)-1; u -= w.weight[at] {
					at++
				}
				truth := change - c.load*w.s.c[at] - sd*studentOf(rng, c.df)
				switch {
				case truth < low:
					below++
				case truth > high:
					above++
				}
			}
			within := 4.5 * math.Sqrt(draws*0.025*0.975)
			if c.load*w.SD < 0.35*sd { // one normal error for both, an approximation
				within += 0.01 * draws
			}
			for _, beyond := range []int{below, above} {
				if math.Abs(float64(beyond)-0.025*draws) > within {
					t.Errorf("%d of %d are below and %d above, want %v +- %.0f each", below, draws, above, 0.025*draws, within)
				}
			}
		})
	}
}

// studentOf draws from Student's t distribution, by Bailey's polar method.
func studentOf(rng *rand.Rand, df float64) float64 {
	if df > 1e6 {
		return rng.NormFloat64()
	}
	for {
		u, v := 2*rng.Float64()-1, 2*rng.Float64()-1
		if w := u*u + v*v; w <= 1 && w > 0 {
			return u * math.Sqrt(df*(math.Pow(w, -2/df)-1)/w)
		}
	}
}
