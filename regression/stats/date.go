package stats

import (
	"math"
	"math/rand/v2"
)

// The dating of changes: segments of at least 5, and a chance of at most 1 in
// 1000. With less of either, single spikes become changes.
const (
	leastSegment  = 5
	permutations  = 999
	dateAlpha     = 0.001
	permutingSeed = 1
)

// DateChanges finds where a series changes, in order of place, by E-divisive
// (Matteson and James 2014, alpha = 1): the split at which the energy distance
// of the two sides is largest, tested by permutation with a fixed seed, and then
// each side alike. It says when a change began that is known to be there; it is
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

// Split is the place with the largest scaled energy distance between the values
// before and after it; 0 where the series is too short.
func Split(y []float64) (at int, distance float64) {
	n := len(y)
	if n < 2*leastSegment {
		return 0, 0
	}
	// Sums of distances within the first k, within the rest, and between; moving
	// one value from the rest to the first takes one pass.
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
