package stats

import (
	"math"
	"math/rand/v2"
)

// Limits of the dating of changes: a minimum of 5 values per segment and a p-value of at most 1 in 1000. With looser
// limits single spikes become changes.
const (
	leastSegment  = 5
	permutations  = 999
	dateAlpha     = 0.001
	permutingSeed = 1
)

// DateChanges returns the positions at which a series changes, in ascending order. It uses E-divisive (Matteson and
// James 2014, alpha = 1): it finds the split with the largest energy distance between both sides, tests it by
// permutation with a fixed seed, and repeats this on each side. It dates a change that is already established and is
// not a test for one.
// no test for one.
func DateChanges(y []float64) []int {
	rng := rand.New(rand.NewPCG(permutingSeed, uint64(len(y))))
	return dateIn(y, 0, rng)
}

func dateIn(y []float64, offset int, rng *rand.Rand) []int {
	at, q := Split(y)
	if at == 0 {
		return nil
	}
	shuffled := append([]float64(nil), y...)
	above := 0
	for range permutations {
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if _, other := Split(shuffled); other >= q {
			above++
		}
		if float64(above+1)/(permutations+1) > dateAlpha {
			return nil
		}
	}
	changes := append(dateIn(y[:at], offset, rng), offset+at)
	return append(changes, dateIn(y[at:], offset+at, rng)...)
}

// Split returns the position with the largest scaled energy distance between the values before and after it; 0 if
// the series is too short.
func Split(y []float64) (at int, distance float64) {
	n := len(y)
	if n < 2*leastSegment {
		return 0, 0
	}
	// Sums of distances within the first k values, within the rest, and between both. Moving one value from the rest
	// to the first takes one pass.
	var within, rest, between float64
	for i := range y {
		for j := range i {
			rest += math.Abs(y[i] - y[j])
		}
	}
	for k := 1; k <= n-leastSegment; k++ {
		toFirst, toRest := 0.0, 0.0
		for j, v := range y {
			d := math.Abs(v - y[k-1])
			if j < k-1 {
				toFirst += d
			} else {
				toRest += d
			}
		}
		within += toFirst
		rest -= toRest
		between += toRest - toFirst
		if k < leastSegment {
			continue
		}
		a, b := float64(k), float64(n-k)
		q := a * b / (a + b) * (2*between/(a*b) - within/(a*(a-1)/2) - rest/(b*(b-1)/2))
		if at == 0 || q > distance {
			at, distance = k, q
		}
	}
	return at, distance
}
