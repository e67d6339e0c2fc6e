// Package judge decides which methods a deployment made more expensive, from sums that a
// query delivers: one row per method, caller, instance and bucket (input.go). The
// steps are those of docs/background/statistics.md, a file each: index.go leaves out the warm-up,
// host_effects.go and service.go take off what moves all methods, standard.go and means.go
// standardise by caller and bucket, effect.go estimates changes and their errors, evaluate.go
// turns them into verdicts and trace.go shows how, calls.go and attribution.go judge what a
// method alone does not show.
//
// Its invariant: it reads no warehouse and no clock; the same cells give the same
// verdicts.
//
// It does not know prices, owners or the order of versions.
package evidence
