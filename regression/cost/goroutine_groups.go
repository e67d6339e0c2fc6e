package cost

import (
	"slices"

	"github.com/corehour/corehour/regression/query"
)

// splitByGroup replaces each method by its parts in goroutine groups. The parts add up to the method:
// corrections of the self cost after measurement (probes, reconciliation) are shared out in proportion to
// timed calls. A part without measured CPU has no self cost; the cost of its callees is subtracted from the
// other parts.
//
// Callees without a group are the exception: their costs cannot be in a group without calls of the method, nor
// exceed the method's time in theirs. They are shared out in proportion to the self costs of the other groups, and
// strayed has the limits of the error.
//
// The calls of a part are those that its measured calls stand for. The remaining calls were counted while the
// method was not timed, so their group is (unknown).
func (b *builder) splitByGroup() {
	if !slices.Contains(b.By, ByGroup) {
		return
	}
	byMethod := map[methodOf][]query.MethodCost{}
	for _, p := range b.costs.Parts {
		key := methodKeyOf(&p)
		key.group = ""
		byMethod[key] = append(byMethod[key], p)
	}
	whole, pending := b.costs.Methods, b.pending
	b.costs.Methods, b.pending = nil, map[*query.MethodCost]int64{}
	waiting, assumed, callsSE := map[methodOf]int64{}, b.assumed, b.callsSE
	b.assumed, b.callsSE = map[*query.MethodCost]float64{}, map[*query.MethodCost]float64{}
	atLeast, errors := map[methodOf]float64{}, map[methodOf]float64{}
	b.strayed = map[methodOf]stray{}
	for i := range whole {
		m := &whole[i]
		parts := byMethod[methodKeyOf(m)]
		if !slices.ContainsFunc(parts, func(p query.MethodCost) bool { return p.GoroutineGroup == query.UnknownGoroutineGroup }) {
			p := query.MethodCost{Service: m.Service, Version: m.Version, Class: m.Class, Method: m.Method, Owner: m.Owner, Full: m.Full}
			p.GoroutineGroup = query.UnknownGoroutineGroup
			parts = append(parts, p)
		}
		rest := *m
		strayed, positive := 0.0, 0.0
		for j := range parts {
			p := &parts[j]
			if !(p.N > 0) || p.SelfX < 0 { // callees in a group in which the method itself has no calls, or too few
				strayed -= min(0, p.SelfX)
				p.SelfX, p.SelfUSD, p.SelfUnpricedX = 0, 0, 0
			}
			positive += p.SelfX
			rest.Calls -= p.WallN
			rest.SelfX, rest.SelfUSD, rest.SelfUnpricedX = rest.SelfX-p.SelfX, rest.SelfUSD-p.SelfUSD, rest.SelfUnpricedX-p.SelfUnpricedX
			rest.X, rest.WallX, rest.BothX = rest.X-p.X, rest.WallX-p.WallX, rest.BothX-p.BothX
		}
		for j := range parts {
			p := &parts[j]
			p.Calls, p.Signature = p.WallN, m.Signature
			if p.GoroutineGroup == query.UnknownGoroutineGroup {
				p.Calls, p.UnmeasuredCalls = p.Calls+max(0, rest.Calls), m.UnmeasuredCalls
				waiting[methodKeyOf(p)] = pending[m]
				if p.Measured == 0 && p.Calls < 0.5 && pending[m] == 0 {
					continue
				}
			}
			if m.Calls > 0 {
				atLeast[methodKeyOf(p)] = assumed[m] * p.Calls / m.Calls
				errors[methodKeyOf(p)] = callsSE[m] * p.Calls / m.Calls
			}
			if m.N > 0 {
				share := p.N / m.N
				if rest.SelfX < 0 && positive+rest.SelfX > 0 {
					share = p.SelfX / positive
				}
				b.strayed[methodKeyOf(p)] = stray{max(0, p.SelfX-max(0, p.SelfX-strayed)), share * strayed}
				p.SelfX, p.SelfUSD, p.SelfUnpricedX = p.SelfX+rest.SelfX*share, p.SelfUSD+rest.SelfUSD*share, p.SelfUnpricedX+rest.SelfUnpricedX*share
				p.X, p.BothX = max(0, p.X+rest.X*share), max(0, p.BothX+rest.BothX*share)
				b.probed[methodKeyOf(p)] = b.probed[methodKeyOf(m)].scaleErrors(share)
			}
			if m.WallN > 0 {
				p.WallX = max(0, p.WallX+rest.WallX*p.WallN/m.WallN)
			}
			b.costs.Methods = append(b.costs.Methods, *p)
		}
	}
	for i := range b.costs.Methods {
		m := &b.costs.Methods[i]
		b.pending[m], b.assumed[m], b.callsSE[m] = waiting[methodKeyOf(m)], atLeast[methodKeyOf(m)], errors[methodKeyOf(m)]
	}
}

// stray contains the limits of a part's error from callees without a group, in ns: most is the largest cost that
// could have to be subtracted, and off the subtracted one.
type stray struct{ most, off float64 }

// scaleErrors returns p with its errors scaled to a share of the calls.
func (p *probed) scaleErrors(share float64) *probed {
	if p == nil {
		return nil
	}
	part := *p
	for i := range part.errors {
		part.errors[i] *= share
	}
	return &part
}
