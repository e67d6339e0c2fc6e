package cost

import (
	"fmt"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
)

// AssumedNote says how many calls of a service are only known from below.
func AssumedNote(s query.Service, calls float64) string {
	return fmt.Sprintf("assumed: %s: %s", s, AssumedCallsNote(calls))
}

// AssumedCallsNote says it without the service.
func AssumedCallsNote(calls float64) string {
	return fmt.Sprintf("%.0f calls are at least that many, as nothing says how their spans were sampled: %s", calls, methodspan.AssumedRemedy)
}

// MergedNote says that it is not known of a service which process sent what.
func MergedNote(s query.Service) string {
	return fmt.Sprintf("processes may be merged: %s: some spans do not say which process sent them, so several may be taken for one: set the resource attribute service.instance.id", s)
}

// mostNotes is how many services are named by one kind of note.
const mostNotes = 10

// Few are the first notes of a kind, and how many more there are.
func Few(notes []string) []string {
	if len(notes) <= mostNotes {
		return notes
	}
	return append(notes[:mostNotes:mostNotes], fmt.Sprintf("%d more notes like these: corehour cost --json has them by service", len(notes)-mostNotes))
}

// assume notes the calls that are only known from below. No dollars are made of them unless they
// are asked for.
func (b *builder) assume(all []query.AssumedCalls) {
	calls := map[versionOf]float64{}
	for _, a := range all {
		calls[versionOf{a.MethodName, a.Version}] = a.Calls
	}
	b.assumed = map[*query.MethodCost]float64{}
	unpriced := map[methodOf]bool{}
	for i := range b.costs.Methods {
		m := &b.costs.Methods[i]
		n := calls[versionOf{nameOf(m), m.Version}]
		if n == 0 {
			continue
		}
		b.assumed[m] = n
		b.service[m.Service].AssumedCalls += n
		if !b.options.IncludeAssumed {
			m.SelfUSD, m.SelfUnpricedX = 0, m.SelfX
			unpriced[keyOf(m)] = true
		}
	}
	for i := range b.costs.Edges {
		if e := &b.costs.Edges[i]; unpriced[methodOf{e.Service, e.Version, e.Callee, e.GoroutineGroup}] {
			e.USD = 0
		}
	}
}
