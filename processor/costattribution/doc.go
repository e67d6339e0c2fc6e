// Package costattribution is the processor cost_attribution: it stamps on each
// resource what an hour of a core costs where its process runs, and on measured
// calls previews of what they stand for.
//
// Package pricebook finds prices and reads their file; prices.go is the same inside the
// collector's configuration, pricer.go stamps, preview.go writes previews.
//
// Its invariant: a price is a positive number that somebody wrote down, or it is
// absent and the reason is there; never zero, never guessed.
//
// It computes no costs that count: these are made by the query, after the last
// stage that can drop a span. Previews are for people who look at spans before.
package costattribution

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
