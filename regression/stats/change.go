package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a two-sided confidence interval.
type Interval struct{ Low, High float64 }

// quantile returns the two-sided quantile of Student's t at a confidence level.
func quantile(level, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(1 - (1-level)/2)
}

// welch returns the degrees of freedom of a sum of two variances (Welch 1947).
func welch(v0, df0, v1, df1 float64) float64 {
	if v0+v1 == 0 {
		return df0 + df1
	}
	return (v0 + v1) * (v0 + v1) / (v0*v0/df0 + v1*v1/df1)
}

// Change returns the relative change from base to head, head/base - 1, with its interval. It uses the delta method on
// the logarithm of the ratio, because the distribution of a ratio is skewed and that of its logarithm nearly
// symmetric. ok is false unless both means are positive.
func Change(base, head Estimate, level float64) (change float64, interval Interval, ok bool) {
	if !(base.Value > 0) || !(head.Value > 0) {
		return 0, Interval{}, false
	}
	v0, v1 := math.Pow(base.Relative(), 2), math.Pow(head.Relative(), 2)
	log := math.Log(head.Value / base.Value)
	margin := quantile(level, welch(v0, base.DF, v1, head.DF)) * math.Sqrt(v0+v1)
	return math.Expm1(log), Interval{math.Expm1(log - margin), math.Expm1(log + margin)}, true
}

// Difference returns head - base with its interval.
func Difference(base, head Estimate, level float64) (float64, Interval) {
	v0, v1 := base.SE*base.SE, head.SE*head.SE
	d := head.Value - base.Value
	margin := quantile(level, welch(v0, base.DF, v1, head.DF)) * math.Sqrt(v0+v1)
	return d, Interval{d - margin, d + margin}
}
