package evidence

import (
	"math"
	"slices"
)

// Basis is the cost of a method that was tested.
type Basis string

const (
	// Own is its own cost: its time less that of the calls that it makes.
	Own Basis = "own"
	// OwnPart is the change of its own cost as a fraction of its inclusive cost, because the own cost is too uncertain
	// or too small for a percentage of itself.
	OwnPart Basis = "own part of inclusive"
	// Inclusive is its time with all callees, because callers are unknown or its callees run concurrently with it.
	Inclusive Basis = "inclusive"
	// Typical is the geometric mean of its calls with all callees. It is tested next to the own cost of a method with
	// callees, and is the basis where it decides: the difference of two means is known far less well.
	Typical Basis = "typical"
)

const (
	// ownKnown is the maximum relative standard error of an own cost as the base of a percentage.
	ownKnown = 0.30
	// leastNegative is the relative amount by which the cost of callees can exceed the inclusive cost by chance.
	leastNegative = 0.02
	// callersKnown is the minimum share of a service's cost with a known caller for which own costs are computed.
	callersKnown = 0.98
)

// findCallees lists, for each method, the cells of the calls that it makes, and sets callersKnown.
func (x *index) findCallees() {
	position := map[string]int32{}
	for m, name := range x.d.Methods {
		position[name] = int32(m)
	}
	oneSided := x.timedInOne()
	var known, all float64
	for i := range x.cells {
		c := &x.cells[i]
		if !x.counts(c) {
			continue
		}
		name := x.d.Callers[c.Caller]
		all += c.Sum
		if name != "" {
			known += c.Sum
		}
		m, ok := position[name]
		if ok && !oneSided[c.Method] {
			x.callees[m] = append(x.callees[m], int32(i))
		}
		if x.d.Instances[c.Instance].Side == Head {
			x.entry[c.Method][1] += c.Weight
			if !ok || m == c.Method {
				x.entry[c.Method][0] += c.Weight
			}
		}
	}
	x.callersKnown = known >= callersKnown*all
}

// timedInOne marks methods that were timed in both versions but measured by this metric in only one. Their cost stays
// with their callers, because it cannot be subtracted in both versions.
func (x *index) timedInOne() []bool {
	timed, measured := make([][2]bool, len(x.d.Methods)), make([][2]bool, len(x.d.Methods))
	for i := range x.cells {
		c := &x.cells[i]
		side := x.d.Instances[c.Instance].Side
		timed[c.Method][side] = timed[c.Method][side] || c.Timed > 0
		measured[c.Method][side] = measured[c.Method][side] || c.Records > 0
	}
	out := make([]bool, len(x.d.Methods))
	for m := range out {
		out[m] = timed[m][Base] && timed[m][Head] && measured[m][Base] != measured[m][Head]
	}
	return out
}

// entryShare returns the share of the head's calls of a method that come from outside the measured methods.
func (x *index) entryShare(m int) float64 {
	if e := x.entry[m]; e[1] > 0 {
		return e[0] / e[1]
	}
	return 0
}

// calleesOf returns the methods that a method calls, in ascending order.
func (x *index) calleesOf(m int) []int {
	var out []int
	for _, i := range x.callees[m] {
		out = append(out, int(x.cells[i].Method))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ownCost turns the grid of means of the current method into that of its own cost: observed and expected cost, each
// less the cost of callees. The expected cost of callees is a fraction of the base's cost in each bucket, so a
// caller with more expensive calls is expected to cost more in both parts. basis is the cost that the grid then
// contains, and loading the coefficient of a shared change in it.
func (z *standard) ownCost(cells []int32) (basis Basis, loading float64) {
	g, buckets := &z.grids[mean], z.x.d.Buckets
	paid, paidVariance := zeros(z.paid, len(g.expected)), zeros(z.paidVariance, len(g.expected))
	z.paid, z.paidVariance = paid, paidVariance
	for _, i := range cells {
		c := &z.x.cells[i]
		at := z.x.at(c.Instance, c.Bucket)
		y := z.observed(c)[mean]
		paid[at] += y
		paidVariance[at] += y * y / c.Records
	}
	// Fractions of the base, by bucket, shrunk towards the mean of all buckets.
	var baseCost, basePaid, headOwn float64
	bucketCost, bucketPaid, bucketN := make([]float64, buckets), make([]float64, buckets), make([]float64, buckets)
	for at := range g.expected {
		if g.expected[at] == 0 {
			paid[at], paidVariance[at] = 0, 0 // its own calls were not measured here
			continue
		}
		observed := g.expected[at] + g.residual[at]
		if z.x.d.Instances[at/buckets].Side == Head {
			headOwn += observed - paid[at]
			continue
		}
		s := at % buckets
		bucketCost[s], bucketPaid[s], bucketN[s] = bucketCost[s]+observed, bucketPaid[s]+paid[at], bucketN[s]+z.records[at]
		baseCost, basePaid = baseCost+observed, basePaid+paid[at]
	}
	if !(baseCost > 0) {
		return Own, 1
	}
	whole := basePaid / baseCost
	left := 1 - whole
	off := z.ownError(bucketCost, bucketPaid, left)
	if left < -max(2*off, leastNegative) {
		return Inclusive, 1 // callees run concurrently with it
	}
	basis, loading = Own, 1
	if off > ownKnown*left || headOwn <= 0 {
		basis, loading = OwnPart, max(left, 0)
	}
	g.usedVariance = 0
	for at := range g.expected {
		u := g.expected[at]
		if u == 0 {
			continue
		}
		share := whole
		if s := at % buckets; bucketCost[s] > 0 {
			own := bucketN[s] / (bucketN[s] + shrinkHigh)
			share = own*bucketPaid[s]/bucketCost[s] + (1-own)*whole
		}
		observed := u + g.residual[at]
		g.residual[at] = observed - paid[at] - u*(1-share)
		use := g.used[at] / u
		known := g.known[at] / g.variance[at]
		g.variance[at] += paidVariance[at]
		g.known[at] = known * g.variance[at]
		if z.x.d.Instances[at/buckets].Side == Base {
			g.usedVariance += use * use * g.variance[at]
		}
		if basis == Own {
			g.expected[at] = u * (1 - share)
			g.used[at] *= 1 - share
		}
	}
	return basis, loading
}

// ownError returns the standard error of the base's own fraction, estimated from the differences between buckets.
func (z *standard) ownError(bucketCost, bucketPaid []float64, left float64) float64 {
	total, squares, n := 0.0, 0.0, 0.0
	for s, c := range bucketCost {
		if c > 0 {
			r := c - bucketPaid[s] - left*c
			squares += r * r
			total += c
			n++
		}
	}
	if n < 2 {
		return 0
	}
	return math.Sqrt(n/(n-1)*squares) / total
}
