package report

import "math"

// scale maps values to positions from 0 to 100.
type scale struct{ low, high float64 }

func (s scale) position(v float64) float64 {
	if !(s.high > s.low) {
		return 50
	}
	return 100 * min(1, max(0, (v-s.low)/(s.high-s.low)))
}

// ticks returns at most about n round values inside the scale.
func (s scale) ticks(n int) []float64 {
	if !(s.high > s.low) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10((s.high-s.low)/float64(n))))
	for _, factor := range []float64{2, 5, 10} {
		if (s.high-s.low)/step <= float64(n) {
			break
		}
		step = factor * math.Pow(10, math.Floor(math.Log10((s.high-s.low)/float64(n))))
	}
	var out []float64
	for v := math.Ceil(s.low/step) * step; v <= s.high; v += step {
		out = append(out, v)
	}
	return out
}
