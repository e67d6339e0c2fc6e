package cost

import (
	"math"

	"github.com/corehour/corehour/regression/query"
)

// dropUntimedSelf sets the self costs of methods without measured CPU to zero. Such a method has only
// negative parts: the costs of its callees. The CPU of these callees may also be part of the self cost of a
// timed caller further up, and is then counted twice; dropUntimedSelf adds that part to DoubleCoreHours.
//
// The caller is unknown, so the part is bounded by the self costs of the timed methods that the method does
// not call itself. timedMethod.maxContained lowers the bound: if one call in a thousand is timed, few timed
// calls can contain one of a method's few calls, and those that do take much longer. If time buckets hardly
// differ and few of them have such a call, none did.
func (b *builder) dropUntimedSelf() {
	calls := map[function][]function{}
	for _, e := range b.costs.Edges {
		if e.Caller != "" {
			caller := function{e.Service, e.Caller}
			calls[caller] = append(calls[caller], function{e.Service, e.Callee})
		}
	}
	timed := map[query.Service]map[function]*timedMethod{}
	for i := range b.costs.Methods {
		if m := &b.costs.Methods[i]; m.N > 0 {
			if timed[m.Service] == nil {
				timed[m.Service] = map[function]*timedMethod{}
			}
			f := function{m.Service, m.Full}
			if timed[m.Service][f] == nil {
				timed[m.Service][f] = &timedMethod{}
			}
			timed[m.Service][f].addMethod(m)
		}
	}
	for i := range b.costs.Methods {
		m := &b.costs.Methods[i]
		if m.N > 0 || m.SelfX == 0 {
			continue
		}
		twice := 0.0
		below := reachable(function{m.Service, m.Full}, calls)
		for f, a := range timed[m.Service] {
			if !below[f] {
				twice += a.maxContained(m.Calls)
			}
		}
		part := min(1, twice/-m.SelfX)
		s := b.service[m.Service]
		s.DoubleCoreHours += part * m.SelfX / nsPerCoreHour
		s.DoubleUSD += part * m.SelfUSD
		m.SelfX, m.SelfUSD, m.SelfUnpricedX = 0, 0, 0
	}
}

// timedMethod sums a method with timed calls over its versions.
type timedMethod struct {
	selfX, calls, measured float64
	squares, timeBuckets   float64 // sum of squared residuals over time buckets, and their number
}

func (a *timedMethod) addMethod(m *query.MethodCost) {
	a.selfX += m.SelfX
	a.calls += m.Calls
	a.measured += float64(m.CPUMeasured)
	a.squares += m.Residuals.Squares
	a.timeBuckets += float64(m.Residuals.Count)
}

// maxContained returns an upper bound on the part of the self cost that belongs to the given number of calls
// of another method. It assumes that every such call that can fall into a timed call does. If k contained
// calls are fewer than the n time buckets, the differences between buckets bound it too: an extra cost of A
// in each of k of n buckets gives a sum of squares of k A^2 (1 - k/n).
func (a *timedMethod) maxContained(calls float64) float64 {
	held := calls * min(1, a.measured/a.calls)
	most := max(0, a.selfX) * min(1, held)
	if k, n := max(1, held), a.timeBuckets; k < n {
		most = min(most, math.Sqrt(k*a.squares/(1-k/n)))
	}
	return most
}

// reachable returns a function and all functions that it calls, directly or indirectly.
func reachable(from function, calls map[function][]function) map[function]bool {
	seen := map[function]bool{from: true}
	for next := []function{from}; len(next) > 0; {
		f := next[len(next)-1]
		next = next[:len(next)-1]
		for _, callee := range calls[f] {
			if !seen[callee] {
				seen[callee] = true
				next = append(next, callee)
			}
		}
	}
	return seen
}
