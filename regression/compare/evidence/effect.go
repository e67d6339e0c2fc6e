package evidence

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// fit is the estimate of one statistic of a method, with its error.
type fit struct {
	change float64 // estimate of ln(head/base)
	last   float64 // change in the last bucket, 0 if it has too few records
	lastN  float64 // records in the last bucket
	// The variance of change is within + buckets + between*spread. kappa is the variance of a residual per unit of
	// grid.variance.
	kappa, within, buckets, spread float64
	df                             float64 // degrees of freedom of kappa
	instances                      stats.Heterogeneity
	ok                             bool
}

// lastRecords is the number of records that the last bucket needs for the test whether it is still more expensive.
const lastRecords = 10

// fitOf estimates the change in statistic s and the parts of its error. The variance within comes from the residuals of
// buckets around the mean of their instance; the variance between from instances around the mean of their version.
func (z *standard) fitOf(s statistic) fit {
	g, buckets := &z.grids[s], z.x.d.Buckets
	n := len(z.x.d.Instances)
	sums := make([]instanceSums, n)
	var head instanceSums
	var used float64
	for i := range sums {
		a := &sums[i]
		for at := i * buckets; at < (i+1)*buckets; at++ {
			a.u += g.expected[at]
			a.e += g.residual[at]
			a.v += g.variance[at]
			a.known += g.known[at]
			a.used += g.used[at]
		}
		used += a.used
		if z.x.d.Instances[i].Side == Head {
			head.u, head.e, head.v = head.u+a.u, head.e+a.e, head.v+a.v
		}
	}
	if !(head.u > 0) || !(used > 0) || s != level && head.e <= -head.u {
		return fit{}
	}
	ratio := head.e / head.u
	f := fit{change: ratio}
	f.last, f.lastN = z.last(g)
	scale := 1.0 // scale of the head's residuals, so that a more expensive version does not count as noisier
	if s != level {
		f.change, scale = math.Log1p(ratio), 1/(1+ratio)
	}
	var of [2]float64 // kappa of each version
	if f.kappa, of, f.df, f.ok = z.kappa(g, sums, scale); !f.ok {
		return fit{}
	}
	f.buckets = z.bucketError[s.weighting()]
	if z.x.d.Overlap != Concurrent {
		apart, ok := z.timeVariance(g, ratio, scale)
		if !ok {
			return fit{}
		}
		f.buckets = max(f.buckets, apart)
	}
	f.within = (of[Head]*head.v + of[Base]*g.usedVariance) / (head.u * head.u)
	f.instances = z.between(sums, f.kappa, scale)
	for i := range sums {
		if z.x.d.Instances[i].Side == Head {
			f.spread += sums[i].u * sums[i].u / (head.u * head.u)
		} else {
			f.spread += sums[i].used * sums[i].used / (used * used)
		}
	}
	return f
}

type instanceSums struct{ u, e, v, known, used float64 }

// leastDiffer is the assumed minimum relative difference between buckets. Without it the error would be 0 where buckets
// do not differ at all, as with the calls of a fixed loop.
const leastDiffer = 0.001

// clearlyNoisier is the factor by which the residual variance of one version must exceed the pooled variance before
// that version gets a variance of its own.
const clearlyNoisier = 1.5

// kappa estimates the variance of a residual per unit of v from the differences of buckets within an instance. It adds
// a correction for few degrees of freedom, because an e-value is invalid if the variance is too small.
//
// of holds the kappa of each version: its own if that is clearly larger than the pooled one, for example because only
// one version has rare expensive calls; else the pooled one.
func (z *standard) kappa(g *grid, sums []instanceSums, scale float64) (kappa float64, of [2]float64, df float64, ok bool) {
	buckets := z.x.d.Buckets
	var squares, least, expected, expected2 float64
	var own, ownExpected [2]float64
	for i := range sums {
		a := &sums[i]
		if !(a.u > 0) {
			continue
		}
		k := 1.0
		if z.x.d.Instances[i].Side == Head {
			k = scale
		}
		for at := i * buckets; at < (i+1)*buckets; at++ {
			u := g.expected[at]
			if u == 0 {
				continue
			}
			share := u / a.u
			r := k * (g.residual[at] - share*a.e)
			v := g.known[at]*(1-2*share) + share*share*a.known
			squares += r * r
			side := z.x.d.Instances[i].Side
			own[side], ownExpected[side] = own[side]+r*r, ownExpected[side]+v
			least += leastDiffer * u * leastDiffer * u
			expected += v
			expected2 += v * v
		}
	}
	if !(expected > 0) {
		return 0, of, 0, false
	}
	if df = expected * expected / expected2; df < 3 {
		return 0, of, 0, false
	}
	kappa = max(squares, least) / expected * (1 + 2/df)
	for side := range of {
		of[side] = kappa
		if k := own[side] / ownExpected[side]; k > clearlyNoisier*kappa {
			of[side] = k
		}
	}
	return kappa, of, df, true
}

// between returns how much instances of the same version differ.
func (z *standard) between(sums []instanceSums, kappa, scale float64) stats.Heterogeneity {
	var h stats.Heterogeneity
	var estimates, variances []float64
	for _, side := range []Side{Base, Head} {
		estimates, variances = estimates[:0], variances[:0]
		k := 1.0
		if side == Head {
			k = scale
		}
		for i, a := range sums {
			if z.x.d.Instances[i].Side == side && a.u > 0 {
				estimates = append(estimates, k*a.e/a.u)
				variances = append(variances, kappa*a.v/(a.u*a.u))
			}
		}
		h = h.Add(stats.HeterogeneityOf(estimates, variances))
	}
	return h
}

// up reports whether the last bucket can still be more expensive: it is, or has too few records to rule out half of the
// change.
func (f *fit) up() bool {
	const recordsDiffer = 1.2 // assumed standard deviation of the logarithm of a record
	return f.last >= 0 || f.last+2*recordsDiffer/math.Sqrt(f.lastN) >= f.change/2
}

// last returns the change in the last bucket alone, and its records.
func (z *standard) last(g *grid) (change, records float64) {
	var u, e, n float64
	bucket := z.x.d.Buckets - 1
	for i, in := range z.x.d.Instances {
		if in.Side == Head {
			at := z.x.at(int32(i), int32(bucket))
			u += g.expected[at]
			e += g.residual[at]
			n += z.records[at]
		}
	}
	if n < lastRecords || !(u > 0) {
		return 0, n
	}
	return e / u, n
}

// measured returns the variance of the measurement: from sampling, and from differences between buckets.
func (f fit) measured(inflation float64) float64 {
	return inflation * (f.within + f.buckets)
}
