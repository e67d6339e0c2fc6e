package evidence

// Where the versions did not run at the same time, what dates and hours do to a method
// is in the difference. Some of it can be seen: buckets of one version differ by it. What
// a whole day does cannot, and is taken for granted.
const (
	dayDiffers  = 0.010 // standard deviation of a method's logarithm between days
	hourDiffers = 0.015 // between the hours before and after
	// apartInflation is by how much more variances are inflated: what happens in one
	// bucket lasts into the next.
	apartInflation = 2
	// leastApart is the number of buckets that tell what buckets differ by. With a quarter
	// of an hour of trouble right at the beginning it is still the smaller part.
	leastApart = 6
)

// timeVariance is the variance of the change that comes from the versions having run at
// other times; false where too few buckets were seen to tell.
func (z *standard) timeVariance(g *grid, ratio, scale float64) (float64, bool) {
	buckets := z.x.d.Buckets
	prior := dayDiffers
	if z.x.d.Overlap == Sequential {
		prior = hourDiffers
	}
	var head, headBuckets, base, baseBuckets, expected float64
	for s := range buckets {
		var u, e, b float64
		for i, in := range z.x.d.Instances {
			at := i*buckets + s
			switch {
			case in.Side == Head:
				u += g.expected[at]
				e += g.residual[at]
			case g.expected[at] > 0: // as often as it is used for the head's expectation
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
	head *= (headBuckets + 1) / (headBuckets - 1) // more, for want of degrees of freedom
	if baseBuckets > 1 {
		base *= (baseBuckets + 1) / (baseBuckets - 1)
	}
	return prior*prior + (head+base)/(expected*expected), true
}
