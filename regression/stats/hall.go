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
	if r.Count < 2 {
		return Estimate{Value: total}, Interval{}, false
	}
	k := float64(r.Count)
	e := Estimate{Value: total, SE: math.Sqrt(k / (k - 1) * r.Squares), DF: k - 1}
	z, skew, root := quantile(level, e.DF), r.skewness(), math.Sqrt(k)
	return e, Interval{
		Low:  total - e.SE*hallInverse(z, skew, root),
		High: total - e.SE*hallInverse(-z, skew, root),
	}, true
}

// skewness returns the skewness of the clusters; 0 if they do not vary.
func (r Residuals) skewness() float64 {
	if !(r.Squares > 0) {
		return 0
	}
	return r.Cubes / float64(r.Count) / math.Pow(r.Squares/float64(r.Count), 1.5)
}

// hallInverse returns the value of Student's statistic that the transformation maps to z.
func hallInverse(z, skew, root float64) float64 {
	a := skew / root
	if math.Abs(a) < 1e-9 {
		return z
	}
	return 3 / a * (math.Cbrt(1+a*(z-a/6)) - 1)
}
