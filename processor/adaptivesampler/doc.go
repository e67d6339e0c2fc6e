// Package adaptivesampler is the processor adaptive_sampler: it learns how often
// methods are called and what they cost, decides the sampling rate of each method,
// serves the rates to SDKs, and thins the measurements that arrive above them.
//
// The path of a batch (sampler.go): measurement.read parses a span,
// batchLookup.lookup finds its method in the table (table.go), arrival.thin decides
// whether it is kept, and table.learn adds it to the method's sums. limit.go bounds
// what an interval keeps.
//
// The path of a decision, once per interval (controlLoop.step): the sums go to a
// strategy (internal/decide), its decisions are put in force (decision.go), methods
// that are no longer called are evicted (evict.go), and changed tables are published
// (tables.go, served.go). state.go and internal/statefile keep the state across
// restarts, explain.go answers why a method has its rate, and shadow.go reports
// what would be thinned.
//
// Its invariant: a probability only falls, it is decided before the value is read,
// from earlier spans, and corehour.p is the probability of all stages up to this
// one. Counts and process reports always pass.
//
// It does not decide what a rate should be: strategies do.
package adaptivesampler

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
