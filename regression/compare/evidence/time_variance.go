package evidence

// If the versions did not run at the same time, the difference contains effects of days and hours on a method. The
// variance between buckets of one version shows a part of them. The effect of a whole day does not show in it, so its
// size is assumed.
const (
	dayDiffers  = 0.010 // standard deviation of a method's logarithm between days
	hourDiffers = 0.015 // the same between consecutive hours
	// apartInflation is the factor for all variances, because effects last for more than one bucket.
	apartInflation = 2
	// leastApart is the minimum number of the head's buckets. With it, a disturbance in the first 15 minutes is still
	// the smaller part.
	leastApart = 6
)

// differs returns the standard deviation of a method's logarithm between the times that are compared.
func (o Overlap) differs() float64 {
	if o == Sequential {
		return hourDiffers
	}
	return dayDiffers
}

// timeVariance returns the variance of the change that comes from running at different times; false if there are
// too few buckets to estimate it.
func (z *standard) timeVariance(g *grid, ratio, scale float64) (float64, bool) {
	buckets := z.x.d.Buckets
	prior := z.x.d.Overlap.differs()
	var head, headBuckets, base, baseBuckets, expected float64
	for s := range buckets {
		var u, e, b float64
		for i, in := range z.x.d.Instances {
			at := i*buckets + s
			switch {
			case in.Side == Head:
				u += g.expected[at]
				e += g.residual[at]
			case g.expected[at] > 0: // weighted by its use for the head's expectation
				b += g.residual[at] * g.used[at] / g.expected[at]
			}
		}
		if u > 0 {
			r := scale * (e - ratio*u)
			head += r * r
			headBuckets++
			expected += u
		}
		if b != 0 {
			base += b * b
			baseBuckets++
		}
	}
	if headBuckets < leastApart {
		return 0, false
	}
	head *= (headBuckets + 1) / (headBuckets - 1) // correction for few degrees of freedom
	if baseBuckets > 1 {
		base *= (baseBuckets + 1) / (baseBuckets - 1)
	}
	return prior*prior + (head+base)/(expected*expected), true
}
