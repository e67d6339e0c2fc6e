package sim

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// source returns the random generator of one part of a run. Every part has its own generator, so the number of
// draws in one part does not change another.
func source(seed, run uint64, part string) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(part) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, run*0x9e3779b97f4a7c15^h))
}

func poisson(r *rand.Rand, mean float64) int {
	switch {
	case mean <= 0:
		return 0
	case mean < 12: // inversion
		p := math.Exp(-mean)
		u, k := r.Float64(), 0
		for u > p && k < 100 {
			u -= p
			k++
			p *= mean / float64(k)
		}
		return k
	}
	return int(distuv.Poisson{Lambda: mean, Src: r}.Rand())
}

func binomial(r *rand.Rand, n int, p float64) int {
	if float64(n)*p < 12 && p < 0.05 { // close to Poisson; the result is capped at n
		return min(poisson(r, float64(n)*p), n)
	}
	return int(distuv.Binomial{N: float64(n), P: p, Src: r}.Rand())
}
