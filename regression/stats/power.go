package stats

import "math"

// requiredEstimate is the least estimate whose e-value reaches a threshold: LogE
// rises with the estimate, so it is found by bisection.
func requiredEstimate(variance, margin float64, scales []float64, logThreshold float64) float64 {
	low, high := margin, margin+math.Sqrt(variance)
	for LogE(high, variance, margin, scales) < logThreshold {
		low, high = high, margin+2*(high-margin)
		if high > 1e3 {
			return math.Inf(1)
		}
	}
	for range 50 {
		if mid := (low + high) / 2; LogE(mid, variance, margin, scales) < logThreshold {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// PowerLogE is the probability that an estimate of a true value with a normal
// error of this variance has an e-value that reaches a threshold.
func PowerLogE(truth, variance, margin float64, scales []float64, logThreshold float64) float64 {
	if !(variance > 0) {
		return 0
	}
	need := requiredEstimate(variance, margin, scales, logThreshold)
	return math.Erfc((need-truth)/math.Sqrt(2*variance)) / 2
}

// DetectableLogE is the true value for which that probability is power: "a change
// of so much would have been seen".
func DetectableLogE(variance, margin float64, scales []float64, logThreshold, power float64) float64 {
	if !(variance > 0) {
		return math.Inf(1)
	}
	return requiredEstimate(variance, margin, scales, logThreshold) + math.Sqrt(2*variance)*math.Erfinv(2*power-1)
}
