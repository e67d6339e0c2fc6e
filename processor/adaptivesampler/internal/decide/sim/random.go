package sim

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// newRandom gives each part of a run its own generator, so that the draws of one do not affect the others.
func newRandom(seed, part uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, part)) }

func poisson(r *rand.Rand, mean float64) float64 {
	if mean <= 0 {
		return 0
	}
	switch {
	case mean < 12: // inversion
		p := math.Exp(-mean)
		u, k := r.Float64(), 0.0
		for u > p && k < 100 {
			u -= p
			k++
			p *= mean / k
		}
		return k
	case mean > 1e4:
		return max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))
	}
	return distuv.Poisson{Lambda: mean, Src: r}.Rand()
}

// binomial returns the number of kept calls out of n at rate p.
func binomial(r *rand.Rand, n, p float64) float64 {
	switch {
	case n <= 0 || p <= 0:
		return 0
	case p >= 1:
		return n
	case n <= 32:
		kept := 0.0
		for range int(n) {
			if r.Float64() < p {
				kept++
			}
		}
		return kept
	case n*p < 12 && p < 0.05: // close enough to Poisson's
		return min(poisson(r, n*p), n)
	case n*p*(1-p) > 1e3:
		return min(max(0, math.Round(n*p+math.Sqrt(n*p*(1-p))*r.NormFloat64())), n)
	}
	return distuv.Binomial{N: n, P: p, Src: r}.Rand()
}

// lognormal draws from the distribution of that mean and spread.
type lognormal struct{ mu, sigma float64 }

func lognormalOf(mean, spread float64) lognormal {
	variance := math.Log1p(spread * spread)
	return lognormal{math.Log(mean) - variance/2, math.Sqrt(variance)}
}

func (l lognormal) draw(r *rand.Rand) float64 { return math.Exp(l.mu + l.sigma*r.NormFloat64()) }
