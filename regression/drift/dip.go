package drift

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

const (
	leastDip = 3  // days
	mostDip  = 28 // days; a level that lasts longer is not temporary
	sureDip  = 3  // standard errors by which a dip must be below the levels before and after it
	mostDips = 3  // per series
)

// leaveOutDips replaces the days of temporary dips by NaN. A dip is a low level of at most mostDip days with higher
// levels before and after. Its end is compared with the level before it, so it does not count as an increase.
// y can begin before the window (day from), which gives the level before a dip at the start of the window.
// It reports whether a dip reaches into the window.
func leaveOutDips(y []float64, from int) bool {
	found := false
	for range mostDips {
		var values []float64
		var days []int
		for d, v := range y {
			if !math.IsNaN(v) {
				values, days = append(values, v), append(days, d)
			}
		}
		first, end := deepestDip(values, days, from)
		if first == end {
			return found
		}
		for _, d := range days[first:end] {
			y[d] = math.NaN()
		}
		found = true
	}
	return found
}

// deepestDip returns the most significant dip as a range of values, empty if none is significant.
func deepestDip(values []float64, days []int, from int) (first, end int) {
	sums := make([]float64, len(values)+1)
	for i, v := range values {
		sums[i+1] = sums[i] + v
	}
	mean := func(a, b int) float64 { return (sums[b] - sums[a]) / float64(b-a) }
	top := 0.0
	for e := leastSide + leastDip; e <= len(values)-leastSide; e++ {
		if days[e] <= from {
			continue
		}
		after := min(mostDip, len(values)-e)
		high := mean(e, e+after)
		for b := e - leastDip; b >= leastSide && days[e]-days[b] <= mostDip; b-- {
			before := min(mostDip, b)
			depth := min(high, mean(b-before, b)) - mean(b, e)
			if t := depth / math.Sqrt(1/float64(e-b)+1/float64(min(before, after))); t > top {
				top, first, end = t, b, e
			}
		}
	}
	if top == 0 {
		return 0, 0
	}
	rest := make([]float64, 0, len(values))
	squares := 0.0
	for _, part := range [][2]int{{0, first}, {first, end}, {end, len(values)}} {
		m := mean(part[0], part[1])
		for _, v := range values[part[0]:part[1]] {
			rest = append(rest, v-m)
			squares += (v - m) * (v - m)
		}
	}
	rho := stats.Unbiased(stats.Autocorrelation(rest), len(rest))
	if top < sureDip*math.Sqrt(stats.LongRun(squares, rho, len(rest))) {
		return 0, 0
	}
	return first, end
}
