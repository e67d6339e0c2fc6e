package stats

import (
	"fmt"
	"math"
)

// Warning is a reason to believe a figure less. It is a value that travels with
// the figure.
type Warning string

// LowerBound is the warning of a total whose tail was not sampled.
const LowerBound Warning = "lower bound, tail not sampled"

// TailGate tells whether an interval of a total may be printed: it takes
// max(100, 25*G1^2) records, G1 being the skewness of single calls (Cochran,
// Sampling Techniques, 3rd ed., section 2.15), for symmetric intervals to hold;
// below it calls so dear that none was sampled yet may decide the total.
func TailGate(records, skewness float64) (Warning, bool) {
	if records >= math.Max(100, 25*skewness*skewness) {
		return "", true
	}
	return LowerBound, false
}

// Histogram is a histogram of logarithms: bin i holds values around gamma^i. Those
// of the days before say how skew calls are.
type Histogram struct {
	Gamma float64
	Bins  map[int]float64
}

// Skewness of what the histogram holds, each bin at its middle in logarithms.
func (h Histogram) Skewness() (float64, error) {
	if !(h.Gamma > 1) {
		return 0, fmt.Errorf("histogram: gamma must be above 1, found %v", h.Gamma)
	}
	value := func(bin int) float64 { return math.Pow(h.Gamma, float64(bin)+0.5) }
	var n, mean float64
	for bin, count := range h.Bins {
		n += count
		mean += count * value(bin)
	}
	if !(n > 0) {
		return 0, nil
	}
	mean /= n
	var square, cube float64
	for bin, count := range h.Bins {
		d := value(bin) - mean
		square += count * d * d
		cube += count * d * d * d
	}
	if !(square > 0) {
		return 0, nil
	}
	return cube / n / math.Pow(square/n, 1.5), nil
}
