// Package adaptivesampler is the processor adaptive_sampler. It learns the call rate and the cost of methods,
// decides the sampling rate of each method, serves the rates to SDKs, and thins measurements that arrive at a
// higher rate.
//
// The path of a batch (sampler.go): measurement.read parses a span, batchLookup.lookup finds its method in the
// table (table.go), arrival.thin decides whether it is kept, and table.learn adds it to the method's sums.
// limit.go bounds the records kept per interval.
//
// The path of a decision, once per interval (controlLoop.step): a strategy (internal/decide) receives the sums,
// its decisions are put in force (decision.go), idle methods are evicted (evict.go), and changed tables are
// published (tables.go, served.go). state.go and internal/statefile keep the state across restarts, explain.go
// explains the rate of a method, and shadow.go reports the effect of thinning without dropping anything.
//
// Invariants: a sampling probability is never raised. It is decided from earlier spans, before the measured
// value is read. corehour.p is the product of the probabilities of all stages up to this one. Counts and process
// reports always pass.
//
// Choosing the rates is the job of strategies, not of this package.
package adaptivesampler

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
