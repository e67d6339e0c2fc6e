package stats

import "math"

// LogE returns the logarithm of the e-value of an estimate with a normal error of known variance, against the
// hypothesis that the true value is at most margin. It is the likelihood ratio of values above the margin, weighted
// by a half-normal distribution for each scale and averaged over the scales (Robbins 1970; Howard, Ramdas, McAuliffe,
// Sekhon 2021, section 3.2). Under the hypothesis its expectation is at most 1. As data accumulates it is a
// supermartingale, so it can be evaluated on any schedule.
func LogE(estimate, variance, margin float64, scales []float64) float64 {
	if !(variance > 0) || math.IsInf(variance, 1) || math.IsNaN(estimate) {
		return 0 // no information: an e-value of 1
	}
	logs := make([]float64, 0, 8)
	for _, scale := range scales {
		d, t2 := estimate-margin, scale*scale
		spread := variance * (variance + t2)
		logs = append(logs, math.Ln2+0.5*math.Log(variance/(variance+t2))+d*d*t2/(2*spread)+logNormalCDF(d*scale/math.Sqrt(spread)))
	}
	return LogMean(logs...)
}

// LogMean returns the logarithm of the mean of values given as logarithms. A mean of e-values is an e-value under any
// dependence (Vovk and Wang 2021).
func LogMean(logs ...float64) float64 {
	if len(logs) == 0 {
		return 0
	}
	top := math.Inf(-1)
	for _, l := range logs {
		top = math.Max(top, l)
	}
	if math.IsInf(top, 0) {
		return top
	}
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(l - top)
	}
	return top + math.Log(sum/float64(len(logs)))
}

// logNormalCDF returns ln P(Z <= z). If the probability is too small to compute directly, it uses the first terms of
// Mills' ratio.
func logNormalCDF(z float64) float64 {
	if z > -30 {
		return math.Log(math.Erfc(-z/math.Sqrt2) / 2)
	}
	return -z*z/2 - math.Log(-z*math.Sqrt(2*math.Pi)) + math.Log1p(-1/(z*z))
}
