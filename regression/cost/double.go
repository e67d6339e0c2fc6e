package cost

import (
	"math"

	"github.com/corehour/corehour/regression/query"
)

// setApart takes what methods without measured CPU paid for what they called out of their self
// costs: these are not known, and a cost below zero is none. Where a timed call held one of their
// calls, what that paid is in its self cost too: it is counted twice. Who called them is not known.
// So it is at most what timed methods cost themselves that they do not call; and of a call in a
// thousand that is timed, few can have held one of a method's few calls. Those that did took so much more
// than others: where time buckets hardly differ, and few of them had such a call, none did.
func (b *builder) setApart() {
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
			timed[m.Service][f].add(m)
		}
	}
	for i := range b.costs.Methods {
		m := &b.costs.Methods[i]
		if m.N > 0 || m.SelfX == 0 {
			continue
		}
		twice := 0.0
		below := reached(function{m.Service, m.Full}, calls)
		for f, a := range timed[m.Service] {
			if !below[f] {
				twice += a.holds(m.Calls)
			}
		}
		part := min(1, twice/-m.SelfX)
		s := b.service[m.Service]
		s.DoubleCoreHours += part * m.SelfX / nsPerCoreHour
		s.DoubleUSD += part * m.SelfUSD
		m.SelfX, m.SelfUSD, m.SelfUnpricedX = 0, 0, 0
	}
}

// timedMethod is a method of any version, of which calls were timed.
type timedMethod struct {
	selfX, calls, measured float64
	squares, timeBuckets   float64 // of what time buckets differ by
}

func (a *timedMethod) add(m *query.MethodCost) {
	a.selfX += m.SelfX
	a.calls += m.Calls
	a.measured += float64(m.CPUMeasured)
	a.squares += m.Residuals.Squares
	a.timeBuckets += float64(m.Residuals.Count)
}

// holds is the most of its self cost that may be of so many calls of another method: as
// many of its timed calls held one of these as there are, times the share that was timed. Where these are fewer than
// time buckets, what they held is in what buckets differ by: A in each of k of n leaves squares of k A^2 (1 - k/n).
func (a *timedMethod) holds(calls float64) float64 {
	held := calls * min(1, a.measured/a.calls)
	most := max(0, a.selfX) * min(1, held)
	if k, n := max(1, held), a.timeBuckets; k < n {
		most = min(most, math.Sqrt(k*a.squares/(1-k/n)))
	}
	return most
}

// reached are a function and all that it calls, directly or through others.
func reached(from function, calls map[function][]function) map[function]bool {
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
