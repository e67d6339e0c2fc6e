package verdict

import (
	"math"

	"github.com/corehour/corehour/regression/judge"
	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/regression/query"
)

// atLeast is the share of a time that is left whatever the probes cost: the cost is
// that of another place in the program.
const atLeast = 0.05

// knownBy is how many standard errors of the probes' cost a change must exceed to count.
const knownBy = 2

// probedMethod adds up a method over one version.
type probedMethod struct {
	calls, ns, left float64 // left is ns without the cost of probes
	errors          probecost.Errors
}

// place is where the probes below a call are alike.
type place struct {
	side   judge.Side
	bucket int64
}

// probesBelow counts the probes of a call of each method and of all that it calls, by place.
func probesBelow(cells []query.Cell, sideOf func(int) judge.Side) map[place]map[string]probecost.Calls {
	type at struct {
		calls map[string]float64 // of a method
		edges []probecost.Edge
	}
	places := map[place]*at{}
	for i := range cells {
		c := &cells[i]
		key := place{sideOf(c.Member), c.TimeBucket}
		a := places[key]
		if a == nil {
			a = &at{calls: map[string]float64{}}
			places[key] = a
		}
		a.calls[c.Full] += c.Weight
		a.edges = append(a.edges, probecost.Edge{
			Caller: c.Caller, Callee: c.Full, Calls: c.Weight,
			Probes: probecost.Calls{CPU: c.TimedCPU, Wall: c.TimedWall, Counted: max(0, c.Calls-c.TimedCPU-c.TimedWall)},
		})
	}
	perCall := map[place]map[string]probecost.Calls{}
	for key, a := range places {
		below := probecost.Below(a.edges, a.calls)
		perCall[key] = map[string]probecost.Calls{}
		for method, calls := range a.calls {
			if calls > 0 {
				n := below[method].Times(1 / calls)
				n.Own = 1
				perCall[key][method] = n
			}
		}
	}
	return perCall
}

// subtractProbes takes out of every method's time what the probes of its own and of the calls
// below it cost: a change of rates, or of the number of small calls, would look like a
// change of the method. A difference between the versions that is within what is not known of
// the probes' costs is none: the head is moved towards the base by as much, in either
// direction.
func subtractProbes(table probecost.Table, cells []query.Cell, sideOf func(int) judge.Side, p Pair) {
	costs := [2]probecost.Costs{
		judge.Base: table.Of(p.Service, p.Base.Version),
		judge.Head: table.Of(p.Service, p.Head.Version),
	}
	if !costs[judge.Base].Known() && !costs[judge.Head].Known() {
		return
	}
	if !costs[judge.Base].CountsWaits || !costs[judge.Head].CountsWaits { // the other one would seem to improve
		costs[judge.Base].Wait, costs[judge.Head].Wait = probecost.Figure{}, probecost.Figure{}
	}
	perCall := probesBelow(cells, sideOf)
	methods := map[string]*[2]probedMethod{}
	for i := range cells {
		c := &cells[i]
		side := sideOf(c.Member)
		n := probesOf(c, perCall[place{side, c.TimeBucket}])
		m := methods[c.Full]
		if m == nil {
			m = &[2]probedMethod{}
			methods[c.Full] = m
		}
		m[side].calls += c.Weight
		m[side].ns += c.Sum
		m[side].left += max(atLeast*c.Sum, c.Sum-costs[side].Of(n))
		m[side].errors = m[side].errors.Add(costs[side].Errors(n))
	}
	for i := range cells {
		c := &cells[i]
		side := sideOf(c.Member)
		off := costs[side].Of(probesOf(c, perCall[place{side, c.TimeBucket}]))
		if side == judge.Head {
			off += c.Weight * unsure(methods[c.Full])
		}
		if off == 0 || !(c.Sum > 0) {
			continue
		}
		left := max(atLeast, 1-off/c.Sum)
		c.Sum *= left
		c.Capped *= left
		c.Log += c.Weight * math.Log(left)
	}
}

// probesOf are those in the time of a cell.
func probesOf(c *query.Cell, perCall map[string]probecost.Calls) probecost.Calls {
	n := perCall[c.Full].Times(c.Weight)
	n.Waits = c.Waits
	return n
}

// unsure returns the part of the difference between the versions, in ns a call, that the
// uncertain costs of probes may have made.
func unsure(m *[2]probedMethod) float64 {
	base, head := &m[judge.Base], &m[judge.Head]
	if !(base.calls > 0) || !(head.calls > 0) {
		return 0
	}
	var difference probecost.Errors // of one program: what both versions have cancels
	for i := range difference {
		difference[i] = head.errors[i]/head.calls - base.errors[i]/base.calls
	}
	most := knownBy * difference.SE()
	return min(most, max(-most, head.left/head.calls-base.left/base.calls))
}
