package main

import "github.com/corehour/corehour/test/figures"

// pathRows adds the goals of the paths, and between them the floors that no probe
// can be faster than, to explain a goal that is missed.
func pathRows(report *figures.Run, named map[string]*path) {
	net := func(name string) float64 { return named[name].median() - named["bare"].median() }
	twoNet := func(name string) float64 {
		return named[name+", two goroutines"].median() - named["bare, two goroutines"].median()
	}
	deepNet := func(name string) float64 { return named[name].median() - named["deep bare"].median() }
	goal := figures.Goal
	compare := func(name string, value float64, peer string, peerValue float64, goal *float64) {
		report.Compare(name, value, "ns", peer, peerValue, figures.Lower, goal)
	}
	floor := func(name string, value float64, of string, ofValue float64) {
		compare("floor: "+name, value, of, ofValue, nil)
	}

	compare("disabled", net("disabled"), "otel never", net("otel never"), goal(1.0/120))
	compare("disabled, compared with a no-op tracer", net("disabled"), "otel no-op", net("otel none"), nil)
	compare("not chosen, rate 0.001, counted", net("skipped"), "otel ratio 0.001", net("otel rare"), goal(1.0/65))
	floor("one locked add", net("locked add"), "otel ratio 0.001", net("otel rare"))
	floor("a thousandth of a timed call", rare*net("cpu, caller"), "otel ratio 0.001", net("otel rare"))
	compare("not chosen, compared with a counter", net("skipped"), "prometheus Inc", net("counter"), nil)
	compare("the same in two goroutines", named["skipped, two goroutines"].median(), "in one", named["skipped"].median(), goal(1.5))
	floor("locked adds on two lines in two goroutines", named["locked adds, two goroutines"].median(), "in one", named["locked add"].median())
	floor("the bare method in two goroutines", named["bare, two goroutines"].median(), "in one", named["bare"].median())
	compare("not chosen, two goroutines, compared with otel", twoNet("skipped"), "otel ratio 0.001, two goroutines", twoNet("otel rare"), nil)
	compare("not chosen, two goroutines, compared with a counter", twoNet("skipped"), "prometheus Inc, two goroutines", twoNet("counter"), nil)
	compare("disabled, defer form, added", named["disabled, defer"].median()-named["disabled"].median(), "an empty defer", net("empty defer"), goal(3))
	compare("not chosen, defer form, added", named["skipped, defer"].median()-named["skipped"].median(), "an empty defer", net("empty defer"), goal(3))
	compare("wall", net("wall"), "two clock readings", net("two clocks"), goal(1.3))
	floor("clock readings and two locked adds, to count and to queue", net("two clocks")+2*net("locked add"), "two clock readings", net("two clocks"))
	compare("wall and caller", net("wall, caller"), "two clock readings and the stack", net("two clocks and stack"), goal(1.15))
	compare("wall and CPU", net("cpu"), "its seven clock readings", net("seven clocks"), goal(1.1))
	compare("wall and CPU, compared with otel", net("cpu"), "otel always", net("otel always"), nil)
	compare("wall, CPU and caller", net("cpu, caller"), "otel always", net("otel always"), nil)
	compare("aggregated, every call", net("aggregate"), "two clock readings", net("two clocks"), goal(1.3))
	floor("clock readings and two locked adds, to count and to add up", net("two clocks")+2*net("locked add"), "two clock readings", net("two clocks"))
	compare("aggregated, every call, compared with otel", net("aggregate"), "otel always", net("otel always"), goal(1.0/15))
	floor("two clock readings", net("two clocks"), "otel always", net("otel always"))
	compare("aggregated, every call, compared with a counter and a histogram", net("aggregate"), "prometheus Now, Inc, Observe", net("counter and histogram"), nil)
	compare("aggregated, two goroutines", named["aggregate, two goroutines"].median(), "in one", named["aggregate"].median(), nil)
	compare("aggregated, two goroutines, compared with otel", twoNet("aggregate"), "otel always, two goroutines", twoNet("otel always"), nil)
	compare("aggregated, two goroutines, compared with a counter and a histogram", twoNet("aggregate"), "prometheus, two goroutines", twoNet("counter and histogram"), nil)
	compare("tail kept, every call timed", net("tail"), "two clock readings", net("two clocks"), nil)
	compare("depth 10 at 0.001", deepNet("deep"), "otel ratio 0.001", deepNet("otel deep"), goal(1.0/40))
	floor("eleven locked adds", (depth+1)*net("locked add"), "otel ratio 0.001", deepNet("otel deep"))
	floor("eleven thousandths of a timed call", (depth+1)*rare*net("cpu, caller"), "otel ratio 0.001", deepNet("otel deep"))
}
