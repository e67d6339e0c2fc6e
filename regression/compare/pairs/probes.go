package pairs

import (
	"math"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/regression/query"
)

// atLeast is the minimum share of a time that remains after subtracting probes. Their cost was measured elsewhere
// in the program and can be too high here.
const atLeast = 0.05

// knownBy is the number of standard errors of the probes' cost that a change must exceed to count.
const knownBy = 2

// probedMethod sums up a method over one version, after subtracting the cost of probes.
type probedMethod struct {
	calls, sum, capped, logs float64
	errors                   probecost.Errors
}

// place is a version and time bucket in which the number of probes per call is the same.
type place struct {
	side   evidence.Side
	bucket int64
}

// probesBelow counts, by place, the probes in a call of each method including all its callees.
func probesBelow(costs [2]probecost.Costs, cells []query.Cell, sideOf func(int) evidence.Side) map[place]map[string]probecost.Calls {
	type at struct {
		methods map[string]probecost.Method
		edges   []probecost.Edge
	}
	places := map[place]*at{}
	for i := range cells {
		c := &cells[i]
		key := place{sideOf(c.Member), c.TimeBucket}
		a := places[key]
		if a == nil {
			a = &at{methods: map[string]probecost.Method{}}
			places[key] = a
		}
		sum := a.methods[c.Full]
		a.methods[c.Full] = probecost.Method{Calls: sum.Calls + c.Weight, Time: sum.Time + c.Sum}
		a.edges = append(a.edges, probecost.Edge{
			Caller: c.Caller, Callee: c.Full, Calls: c.Weight, Time: c.Sum,
			Probes: probecost.Calls{CPU: c.TimedCPU, Wall: c.TimedWall, Counted: max(0, c.Calls-c.TimedCPU-c.TimedWall)},
		})
	}
	perCall := map[place]map[string]probecost.Calls{}
	for key, a := range places {
		below := costs[key.side].Below(a.edges, a.methods)
		perCall[key] = map[string]probecost.Calls{}
		for method, sum := range a.methods {
			if sum.Calls > 0 {
				n := below[method].Times(1 / sum.Calls)
				n.Own = 1
				perCall[key][method] = n
			}
		}
	}
	return perCall
}

// subtractProbes subtracts the cost of the probes in a method and its callees from the method's time. Otherwise a
// change of sampling rates, or of the number of small calls, would look like a change of the method. A difference
// between the versions within the uncertainty of the probes' cost does not count: the head is moved towards the
// base by up to that uncertainty, in either direction. Each statistic is moved by its own difference, because a
// rare expensive call changes the mean but not the cost of the other calls.
func subtractProbes(table probecost.Table, cells []query.Cell, sideOf func(int) evidence.Side, p Pair) {
	costs := [2]probecost.Costs{
		evidence.Base: table.CostsOf(p.Service, p.Base.Version),
		evidence.Head: table.CostsOf(p.Service, p.Head.Version),
	}
	if !costs[evidence.Base].Known() && !costs[evidence.Head].Known() {
		return
	}
	if !costs[evidence.Base].CountsWaits || !costs[evidence.Head].CountsWaits { // the version that counts waits would seem to improve
		costs[evidence.Base].Wait, costs[evidence.Head].Wait = probecost.Figure{}, probecost.Figure{}
	}
	perCall := probesBelow(costs, cells, sideOf)
	methods := map[string]*[2]probedMethod{}
	for i := range cells {
		c := &cells[i]
		side := sideOf(c.Member)
		n := probesOf(c, perCall[place{side, c.TimeBucket}])
		if off := costs[side].Total(n); off != 0 && c.Sum > 0 {
			subtractFrom(c, off)
		}
		m := methods[c.Full]
		if m == nil {
			m = &[2]probedMethod{}
			methods[c.Full] = m
		}
		m[side].calls += c.Weight
		m[side].sum += c.Sum
		m[side].capped += c.Capped
		m[side].logs += c.Log
		m[side].errors = m[side].errors.Add(costs[side].Errors(n))
	}
	moves := make(map[string]move, len(methods))
	for full, m := range methods {
		moves[full] = unsure(m)
	}
	for i := range cells {
		if c := &cells[i]; sideOf(c.Member) == evidence.Head {
			by := moves[c.Full]
			c.Sum = max(atLeast*c.Sum, c.Sum-c.Weight*by.sum)
			c.Capped = max(atLeast*c.Capped, c.Capped-c.Weight*by.capped)
			c.Log -= c.Weight * by.log
		}
	}
}

// subtractFrom subtracts the cost of probes from each statistic of a cell, relative to the calls that it describes: a
// rare expensive call makes the sum large, and the probes are then a small part of the sum only.
func subtractFrom(c *query.Cell, off float64) {
	left := func(of float64) float64 { return max(atLeast, 1-off/of) }
	if c.Capped > 0 {
		c.Capped *= left(c.Capped)
	}
	if c.Weight > 0 {
		c.Log += c.Weight * math.Log(left(c.Weight*math.Exp(c.Log/c.Weight)))
	}
	c.Sum *= left(c.Sum)
}

// resolution returns the uncertainty of the part of a probe that the time of its own call contains, in ns: the smallest
// change of a call that can be told.
func resolution(table probecost.Table, p Pair) float64 {
	return max(table.CostsOf(p.Service, p.Base.Version).Inside.SE, table.CostsOf(p.Service, p.Head.Version).Inside.SE)
}

// probesOf returns the probes in the time of a cell.
func probesOf(c *query.Cell, perCall map[string]probecost.Calls) probecost.Calls {
	n := perCall[c.Full].Times(c.Weight)
	n.Waits = c.Waits
	return n
}

// move is subtracted from each call of the head: sum and capped in ns, log from the logarithm.
type move struct{ sum, capped, log float64 }

// unsure returns the part of the differences between the versions that can result from the uncertain cost of probes.
func unsure(m *[2]probedMethod) move {
	base, head := &m[evidence.Base], &m[evidence.Head]
	if !(base.calls > 0) || !(head.calls > 0) {
		return move{}
	}
	var difference probecost.Errors // per call: errors that both versions share cancel
	for i := range difference {
		difference[i] = head.errors[i]/head.calls - base.errors[i]/base.calls
	}
	most := knownBy * difference.SE()
	within := func(low, value, high float64) float64 { return min(high, max(low, value)) }
	level := head.logs / head.calls
	share := most / math.Exp(level) // relative to the typical call
	return move{
		sum:    within(-most, head.sum/head.calls-base.sum/base.calls, most),
		capped: within(-most, head.capped/head.calls-base.capped/base.calls, most),
		log:    within(-math.Log1p(share), level-base.logs/base.calls, -math.Log(max(atLeast, 1-share))),
	}
}
