package stats

import "math"

// Required is the estimate, with its standard deviation, at which the e-value reaches a threshold.
type Required struct{ Estimate, SD float64 }

// RequiredLogE returns the smallest estimate whose e-value reaches a threshold. LogEStudent increases with the
// estimate, so bisection finds it.
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

// Power returns the probability that an estimate with a normal error around truth reaches the required estimate.
func (r Required) Power(truth float64) float64 {
	if !(r.SD > 0) {
		return 0
	}
	return math.Erfc((r.Estimate-truth)/(math.Sqrt2*r.SD)) / 2
}

// Detectable returns the true value that is detected with probability power.
func (r Required) Detectable(power float64) float64 {
	return r.Estimate + math.Sqrt2*r.SD*math.Erfinv(2*power-1)
}
