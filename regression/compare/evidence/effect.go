package evidence

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// fit is what the grid of one statistic says about a method.
type fit struct {
	change float64 // estimate of ln(head/base)
	last   float64 // that of the last bucket, 0 if it has too few records
	lastN  float64 // its records
	// The variance of change is within + buckets + between*spread. kappa is that of a
	// residual, per unit of what it is proportional to.
	kappa, within, buckets, spread float64
	df                             float64 // of kappa
	instances                      stats.Heterogeneity
	ok                             bool
}

// lastRecords are needed in the last bucket to ask whether it is still up.
const lastRecords = 10

// fitOf estimates the change and what its error is made of: residuals of buckets
// around their instance's mean give the variance within, per unit of v; instances
// around their version's mean the variance between.
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
	scale := 1.0 // of the head's residuals, so that a more expensive version is not a noisier one
	if s != level {
		f.change, scale = math.Log1p(ratio), 1/(1+ratio)
	}
	var of [2]float64 // each version
	if f.kappa, of, f.df, f.ok = z.kappa(g, sums, scale); !f.ok {
		return fit{}
	}
	f.buckets = z.bucketError
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

// leastDiffer is what buckets differ by at least. Where they do not differ at all, as
// the calls that a loop makes, nothing would be known of the error.
const leastDiffer = 0.001

// clearlyNoisier is by how much the residuals of one version must vary more than those of
// both for its error to be made of them alone.
const clearlyNoisier = 1.5

// kappa is the variance of a residual per unit of v, from what buckets differ by
// within an instance. It is made larger for want of degrees of freedom: an e-value
// forgives no variance that came out too small.
//
// of is that of each version: its own where that is clearly larger, as rare expensive calls
// in one version alone make it.
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

// between compares instances of one version with each other.
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

// up reports whether the last bucket may still be more expensive: it is, or its few records
// do not tell it from half of the change.
func (f *fit) up() bool {
	const recordsDiffer = 1.2 // standard deviation of the logarithm of a record
	return f.last >= 0 || f.last+2*recordsDiffer/math.Sqrt(f.lastN) >= f.change/2
}

// last is the change in the last bucket alone, and its records.
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

// measured is the variance of what was measured: the calls that were not sampled, and
// the buckets that differ.
func (f fit) measured(inflation float64) float64 {
	return inflation * (f.within + f.buckets)
}
