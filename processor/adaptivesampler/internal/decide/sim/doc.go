// Package sim runs the strategies of package decide, and comparable ones, on services with a known truth, and
// measures the results.
//
// population.go draws the methods, world.go lets a minute pass: calls are drawn,
// each is kept by chance at the rate in force, and the rates that were decided
// after a minute reach one half of the calls in the next and all of them in the
// one after. fleet.go lets seconds pass, for what happens within an interval: processes and
// one collector or two, each with a strategy and the limit of an interval. peers.go are the
// other strategies; they are in no product. scenario_*.go are the scenarios, figures.go the
// table.
//
// Its invariant: the same seed gives the same figures. It has no spans, and of a queue only the number of refused
// records, which are aggregated.
package sim
