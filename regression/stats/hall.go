package stats

import "math"

// Residuals holds sums over clusters of powers of their residuals, the differences from expectation. They determine
// the error of a total whose residuals sum to 0.
type Residuals struct {
	Count          int64
	Squares, Cubes float64
}

// HallInterval returns the interval of a total with skewed clusters (Hall 1992, On the removal of skewness by
// transformation; the monotone cubic). Costs are skewed to the right, so a symmetric interval is too often below the
// true value. It returns false with fewer than two clusters, as the error is then unknown.
func (r Residuals) HallInterval(total, level float64) (Estimate, Interval, bool) {
	return r.SkewedInterval(total, level, 0)
}

// SkewedInterval returns the smallest interval that contains HallInterval and the one of a total with at least the
// given skewness. Few clusters that lack a rare expensive call have too small a skewness of their own.
func (r Residuals) SkewedInterval(total, level, skewness float64) (Estimate, Interval, bool) {
	if r.Count < 2 {
		return Estimate{Value: total}, Interval{}, false
	}
	k := float64(r.Count)
	e := Estimate{Value: total, SE: math.Sqrt(k / (k - 1) * r.Squares), DF: k - 1}
	z, own := quantile(level, e.DF), r.skewness()/math.Sqrt(k)
	most := max(own, skewness)
	return e, Interval{
		Low:  total - e.SE*max(hallInverse(z, own), hallInverse(z, most)),
		High: total - e.SE*min(hallInverse(-z, own), hallInverse(-z, most)),
	}, true
}

// skewness returns the skewness of the clusters; 0 if they do not vary.
func (r Residuals) skewness() float64 {
	if !(r.Squares > 0) {
		return 0
	}
	return r.Cubes / float64(r.Count) / math.Pow(r.Squares/float64(r.Count), 1.5)
}

// hallInverse returns the value of Student's statistic that the transformation maps to z, for a total of the given
// skewness.
func hallInverse(z, skewness float64) float64 {
	if math.Abs(skewness) < 1e-9 {
		return z
	}
	return 3 / skewness * (math.Cbrt(1+skewness*(z-skewness/6)) - 1)
}
