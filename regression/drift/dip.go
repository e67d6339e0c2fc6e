package drift

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

const (
	leastDip = 3  // days
	mostDip  = 28 // a level that lasts longer is not temporary
	sureDip  = 3  // standard errors by which a dip is below the levels before and after it
	mostDips = 3  // in one series
)

// leaveOutDips replaces the days of temporary dips by NaN: low levels of at most
// mostDip days with higher ones before and after. The end of a dip is compared with
// the level before it, so it is no increase. y may begin before the window, so that the
// level before a dip is known with which the window begins. It reports whether it found
// any that reach into the days from from on.
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

// deepestDip is the dip that is surest, as a range of values; empty if none is sure.
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
