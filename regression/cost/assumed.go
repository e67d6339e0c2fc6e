package cost

import (
	"fmt"
	"math"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
)

// AssumedNote returns the note for a service that has calls with a lower bound only.
func AssumedNote(s query.Service, calls float64) string {
	return fmt.Sprintf("assumed: %s: %s", s, assumedCallsNote(calls))
}

// assumedCallsNote returns the note without the name of the service.
func assumedCallsNote(calls float64) string {
	return fmt.Sprintf("%.0f calls are a lower bound, because their sampling probability is unknown: %s", calls, methodspan.AssumedRemedy)
}

// MergedNote returns the note for a service whose spans do not all identify the process that sent them.
func MergedNote(s query.Service) string {
	return fmt.Sprintf("processes may be merged: %s: some spans do not name their process, so several processes may count as one: set the resource attribute service.instance.id", s)
}

// mostNotes is the maximum number of services that one kind of note names.
const mostNotes = 10

// Few returns at most mostNotes notes of a kind and, if there are more, a line with the number left out.
func Few(notes []string) []string {
	if len(notes) <= mostNotes {
		return notes
	}
	return append(notes[:mostNotes:mostNotes], fmt.Sprintf("%d more notes like these: corehour cost --json has them by service", len(notes)-mostNotes))
}

// setAssumedCalls records the calls whose number is a lower bound, and the standard errors of estimated calls. Lower
// bounds get no dollars unless IncludeAssumed is set.
func (b *builder) setAssumedCalls(all []query.AssumedCalls) {
	known := map[versionOf]query.AssumedCalls{}
	for _, a := range all {
		known[versionOf{a.MethodName, a.Version}] = a
	}
	b.assumed, b.callsSE = map[*query.MethodCost]float64{}, map[*query.MethodCost]float64{}
	unpriced := map[methodOf]bool{}
	for i := range b.costs.Methods {
		m := &b.costs.Methods[i]
		a := known[versionOf{nameOf(m), m.Version}]
		b.callsSE[m] = math.Sqrt(a.Variance)
		if a.Calls == 0 {
			continue
		}
		b.assumed[m] = a.Calls
		b.service[m.Service].AssumedCalls += a.Calls
		if !b.options.IncludeAssumed {
			m.SelfUSD, m.SelfUnpricedX = 0, m.SelfX
			unpriced[methodKeyOf(m)] = true
		}
	}
	for i := range b.costs.Edges {
		if e := &b.costs.Edges[i]; unpriced[methodOf{e.Service, e.Version, e.Callee, e.GoroutineGroup}] {
			e.USD = 0
		}
	}
}
