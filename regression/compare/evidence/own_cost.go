package evidence

import (
	"fmt"
	"math"
	"slices"
	"strings"
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
func (x *index) findCallees(o Options) {
	position := map[string]int32{}
	for m, name := range x.d.Methods {
		position[name] = int32(m)
	}
	oneSided := x.oneSided(o.Records)
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
		switch {
		case ok && oneSided[c.Method]:
			x.kept[m] = append(x.kept[m], c.Method)
		case ok:
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

// oneSided marks methods that were measured in only one version: by this metric, or because only one version has them,
// which at least least records show. Their cost stays with their callers, because it cannot be subtracted in both
// versions. So a caller shows what a new, renamed or split callee costs.
func (x *index) oneSided(least float64) []bool {
	timed, measured := make([][2]float64, len(x.d.Methods)), make([][2]float64, len(x.d.Methods))
	for i := range x.cells {
		c := &x.cells[i]
		side := x.d.Instances[c.Instance].Side
		timed[c.Method][side] += c.Timed
		if x.shown(c) {
			measured[c.Method][side] += c.Records
		}
	}
	out := make([]bool, len(x.d.Methods))
	for m := range out {
		inOne := min(measured[m][Base], measured[m][Head]) == 0 && max(measured[m][Base], measured[m][Head]) > 0
		out[m] = inOne && (min(timed[m][Base], timed[m][Head]) > 0 || max(timed[m][Base], timed[m][Head]) >= least)
	}
	return out
}

// keptCallees names the callees of a method whose cost stays with it.
func (x *index) keptCallees(m int) string {
	const listed = 3
	kept := slices.Compact(slices.Sorted(slices.Values(x.kept[m])))
	var names []string
	for _, callee := range kept[:min(len(kept), listed)] {
		which := "new"
		if x.d.Instances[x.of(int(callee))[0].Instance].Side == Base {
			which = "gone"
		}
		names = append(names, fmt.Sprintf("%s (%s)", x.d.Methods[callee], which))
	}
	if more := len(kept) - listed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
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
