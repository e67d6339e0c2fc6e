package stats

import (
	"cmp"
	"math"
	"slices"
)

// EBH returns the hypotheses that the e-BH procedure rejects: those with the k largest e-values, for the greatest k
// whose k-th e-value is at least total/(alpha*k) (Wang and Ramdas 2022). The expected share of false rejections is at
// most alpha under any dependence. total counts all hypotheses, including those without an e-value. needed is, for
// each hypothesis, the smallest logE at which it would be rejected with all others unchanged.
func EBH(logE []float64, total int, alpha float64) (rejected []bool, needed []float64) {
	order := make([]int, len(logE))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logE[b], logE[a]) })
	passed := 0
	for k, i := range order {
		if logE[i] >= logThreshold(total, k+1, alpha) {
			passed = k + 1
		}
	}
	rejected, needed = make([]bool, len(logE)), make([]float64, len(logE))
	with := 1 // number of rejections if this hypothesis had a large enough e-value
	for k, i := range order {
		if k > 0 && logE[order[k-1]] >= logThreshold(total, k+1, alpha) {
			with = k + 1
		}
		rejected[i] = k < passed
		needed[i] = logThreshold(total, max(with, passed), alpha)
	}
	return rejected, needed
}

func logThreshold(total, k int, alpha float64) float64 {
	return math.Log(float64(max(total, k)) / (alpha * float64(k)))
}

// BH returns the hypotheses that the procedure of Benjamini and Hochberg (1995) rejects. It is valid for tests that
// are independent or positively dependent.
func BH(p []float64, alpha float64) []bool {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	passed := 0
	for k, i := range order {
		if p[i] <= alpha*float64(k+1)/float64(len(p)) {
			passed = k + 1
		}
	}
	rejected := make([]bool, len(p))
	for _, i := range order[:passed] {
		rejected[i] = true
	}
	return rejected
}
