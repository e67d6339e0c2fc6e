package stats

import "math"

// Required is what an estimate must be for its e-value to reach a threshold.
type Required struct{ Estimate, SD float64 }

// RequiredLogE returns the least estimate whose e-value reaches a threshold: LogEStudent
// rises with the estimate, so it is found by bisection.
func RequiredLogE(variance, df, margin float64, scales []float64, logThreshold float64) Required {
	if !(variance > 0) {
		return Required{Estimate: math.Inf(1)}
	}
	low, high := margin, margin+math.Sqrt(variance)
	r := Required{SD: math.Sqrt(variance)}
	for LogEStudent(high, variance, df, margin, scales) < logThreshold {
		low, high = high, margin+2*(high-margin)
		if high > 50 {
			r.Estimate = math.Inf(1)
			return r
		}
	}
	for range 40 {
		if mid := (low + high) / 2; LogEStudent(mid, variance, df, margin, scales) < logThreshold {
			low = mid
		} else {
			high = mid
		}
	}
	r.Estimate = high
	return r
}

// Power is the probability that the estimate of a true value, with a normal error,
// reaches what is required.
func (r Required) Power(truth float64) float64 {
	if !(r.SD > 0) {
		return 0
	}
	return math.Erfc((r.Estimate-truth)/(math.Sqrt2*r.SD)) / 2
}

// Detectable is the true value for which that probability is power: "a change of so
// much would have been seen".
func (r Required) Detectable(power float64) float64 {
	return r.Estimate + math.Sqrt2*r.SD*math.Erfinv(2*power-1)
}
