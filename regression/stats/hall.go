package stats

import "math"

// Residuals are sums over clusters of powers of what each differs from its
// expectation. They say how far off a total is whose own sum of residuals is 0.
type Residuals struct {
	Count          int64
	Squares, Cubes float64
}

// HallInterval is the interval of a total that allows for skew clusters (Hall 1992,
// On the removal of skewness by transformation; the cubic that is monotone). Costs
// are skew to the right, so a symmetric interval misses on the high side: the truth
// lies above it. False if there are fewer than two clusters: then nothing is known
// about the error.
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

// skewness of the clusters; 0 where none vary.
func (r Residuals) skewness() float64 {
	if !(r.Squares > 0) {
		return 0
	}
	return r.Cubes / float64(r.Count) / math.Pow(r.Squares/float64(r.Count), 1.5)
}

// hallInverse is the value of Student's statistic that the transformation takes
// to z.
func hallInverse(z, skew, root float64) float64 {
	a := skew / root
	if math.Abs(a) < 1e-9 {
		return z
	}
	return 3 / a * (math.Cbrt(1+a*(z-a/6)) - 1)
}
