package cost

import (
	"github.com/corehour/corehour/regression/query"
)

// setApart takes what methods without measured CPU paid for what they called out of
// their self costs: these are not known, and a cost below zero is none. Where one was called
// by a measured method, whose self cost holds it too, it is counted twice. Who called it is not
// known; but what holds it costs that much itself, and is not what it calls.
func (b *builder) setApart() {
	calls := map[function][]function{}
	for _, e := range b.costs.Edges {
		if e.Caller != "" {
			caller := function{e.Service, e.Caller}
			calls[caller] = append(calls[caller], function{e.Service, e.Callee})
		}
	}
	self := map[query.Service]map[function]float64{} // of measured methods
	for i := range b.costs.Methods {
		if m := &b.costs.Methods[i]; m.N > 0 && m.SelfX > 0 {
			if self[m.Service] == nil {
				self[m.Service] = map[function]float64{}
			}
			self[m.Service][function{m.Service, m.Full}] += m.SelfX
		}
	}
	for i := range b.costs.Methods {
		m := &b.costs.Methods[i]
		if m.N > 0 || m.SelfX == 0 {
			continue
		}
		twice := 0.0 // at most
		below := reached(function{m.Service, m.Full}, calls)
		for f, x := range self[m.Service] {
			if !below[f] {
				twice += x
			}
		}
		part := min(1, twice/-m.SelfX)
		s := b.service[m.Service]
		s.DoubleCoreHours += part * m.SelfX / nsPerCoreHour
		s.DoubleUSD += part * m.SelfUSD
		m.SelfX, m.SelfUSD, m.SelfUnpricedX = 0, 0, 0
	}
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
