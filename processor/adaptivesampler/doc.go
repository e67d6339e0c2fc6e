// Package adaptivesampler is the processor adaptive_sampler: it thins the
// measurements of each method to the rate that the method file gives it, and
// stamps on what it keeps the probability it was kept with, its tier, and the
// rule that decided.
//
// measurement.go reads what a decision needs from a span, thin.go decides,
// rules.go finds the rule of a method, sampler.go goes over the batch.
//
// Its invariant: a probability only falls, it is decided before the value is
// looked at, and corehour.p is the probability of all stages up to this one.
// Counts and process reports always pass.
//
// It does not change rates by itself yet: they are what the file says.
package adaptivesampler

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
