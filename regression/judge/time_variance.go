package judge

// Where the versions did not run at the same time, what dates and hours do to a method
// is in the difference. Some of it can be seen: slots of one version differ by it. What
// a whole day does cannot, and is taken for granted.
const (
	dayDiffers  = 0.010 // standard deviation of a method's logarithm between days
	hourDiffers = 0.015 // between the hours before and after
	// apartInflation is by how much more variances are inflated: what happens in one
	// slot lasts into the next.
	apartInflation = 2
	// leastApart is the number of slots that tell what slots differ by. With a quarter
	// of an hour of trouble right at the beginning it is still the smaller part.
	leastApart = 6
)

// timeVariance is the variance of the change that comes from the versions having run at
// other times; false where too few slots were seen to tell.
func (z *standard) timeVariance(g *grid, ratio, scale float64) (float64, bool) {
	slots := z.x.d.Slots
	prior := dayDiffers
	if z.x.d.Overlap == Sequential {
		prior = hourDiffers
	}
	var head, headSlots, base, baseSlots, expected float64
	for s := range slots {
		var u, e, b float64
		for i, in := range z.x.d.Instances {
			at := i*slots + s
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
			headSlots++
			expected += u
		}
		if b != 0 {
			base += b * b
			baseSlots++
		}
	}
	if headSlots < leastApart {
		return 0, false
	}
	head *= (headSlots + 1) / (headSlots - 1) // more, for want of degrees of freedom
	if baseSlots > 1 {
		base *= (baseSlots + 1) / (baseSlots - 1)
	}
	return prior*prior + (head+base)/(expected*expected), true
}
