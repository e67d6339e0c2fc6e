// Package adaptivesampler is the processor adaptive_sampler: it learns from what
// arrives how much there is to measure, decides how often each method is, tells the
// SDKs, and thins what arrives above that.
//
// sampler.go goes over a batch: measurement.go reads what is needed of a span,
// reading.go finds the place of its method in the table (table.go), thin.go decides
// about it, learn.go adds it up. loop.go closes the circle once per interval: it
// hands what was learned to a strategy (internal/decide), puts the decisions in
// force (decision.go), makes room (evict.go) and publishes tables (tables.go,
// served.go). state.go and internal/statefile keep it all across restarts,
// explain.go says why, shadow.go what would be. limit.go bounds what an interval keeps.
//
// Its invariant: a probability only falls, it is decided before the value is
// looked at, by what earlier spans showed, and corehour.p is the probability of all
// stages up to this one. Counts and process reports always pass.
//
// It does not decide what a rate should be: strategies do.
package adaptivesampler

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
