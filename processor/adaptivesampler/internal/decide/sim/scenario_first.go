package sim

import (
	"fmt"
	"math"
	"slices"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// hotMethods returns 60 that are called 0.5 to 200,000 times a second.
func hotMethods(service string, seed uint64) []*Method {
	methods := Population(seed, 60, decide.Group{Service: service, Version: "1"})
	for i, m := range methods {
		m.Calls = 60 * 0.5 * math.Pow(400_000, float64(i)/59)
	}
	return methods
}

// event is something new that happens to collectors and a service.
type event struct {
	name       string
	collectors int
	either     bool // batches go to either collector
	settled    bool // ordinary load for a while before
	then       func(*fleet)
	service    string // that it happens to
}

var (
	newService = func(f *fleet) { f.startService("mail") }
	surge      = func(f *fleet) { f.times = 20 }
	events     = []event{
		{name: "cold start", collectors: 1, service: "shop"},
		{name: "new service", collectors: 1, settled: true, then: newService, service: "mail"},
		{name: "traffic x20", collectors: 1, settled: true, then: surge, service: "shop"},
		{name: "two collectors, a process each, cold start", collectors: 2, service: "shop"},
		{name: "two collectors, a process each, traffic x20", collectors: 2, settled: true, then: surge, service: "shop"},
		{name: "two collectors, batches to either, cold start", collectors: 2, either: true, service: "shop"},
		{name: "two collectors, batches to either, traffic x20", collectors: 2, either: true, settled: true, then: surge, service: "shop"},
	}
)

const (
	ordinary     = 20*intervalLong + 7 // seconds before something happens, within an interval
	firstWatched = 12                  // intervals
	shipped      = 100                 // records a second, of config/collector.yaml
)

// startService starts two processes of a service.
func (f *fleet) startService(service string) {
	for i := range 2 {
		f.join(service, i%len(f.collectors), 0.5)
	}
}

func shippedFleet(collectors int, either bool, seed uint64) *fleet {
	cfg := decide.DefaultConfig()
	cfg.Budget.RecordsPerSecond = shipped
	f := newFleet(slices.Concat(hotMethods("shop", seed), hotMethods("mail", seed+1)), cfg, collectors, seed)
	f.either = either
	f.startService("shop")
	return f
}

// First returns the records kept of a service around an event, by interval, relative to the target.
func First(e *event, seed uint64) []float64 {
	f := shippedFleet(e.collectors, e.either, seed)
	if e.settled {
		f.pass(ordinary)
	}
	if e.then != nil {
		e.then(f)
	}
	from := len(f.kept[e.service].perSecond)
	f.pass(firstWatched * intervalLong)
	kept := f.kept[e.service].perSecond[from:]
	for i := range kept {
		kept[i] /= shipped
	}
	return kept
}

// Steady returns how often the rate of any method turns at most in any hour of steady load, calls
// coming so many at a time, hours after the start.
func Steady(collectors int, bunch float64, hours int, seed uint64) (most int) {
	f := shippedFleet(collectors, false, seed)
	f.bunch = bunch
	f.pass(4 * 60 * 60)
	for range hours {
		zigzags := make([]zigzag, collectors*len(f.methods))
		for range 60 {
			f.pass(intervalLong)
			for i, c := range f.collectors {
				for j, rate := range c.decided {
					if rate > 0 { // of the service that runs
						z := &zigzags[i*len(f.methods)+j]
						z.next(rate)
						most = max(most, z.turns)
					}
				}
			}
		}
	}
	return most
}

func (t *Table) first() {
	for i := range events {
		e := &events[i]
		kept := First(e, t.seeds[0])
		fmt.Fprintf(t.progress, "  %s: kept over the target by interval: %.2f\n", e.name, kept)
		t.lower(e.name+": fullest interval, of the target", slices.Max(kept), "", 2*decide.Headroom)
		t.higher(e.name+": least kept in an interval, of the target", slices.Min(kept), "", 0.5)
	}
	for _, collectors := range []int{1, 2} {
		for _, bunch := range []float64{1, 20} {
			t.lower(fmt.Sprintf("60 methods at %d collectors, steady load, %.0f calls at a time: most turns of a rate in an hour", collectors, bunch),
				float64(Steady(collectors, bunch, t.hours, t.seeds[0])), "", 1)
		}
	}
}
