// Package costattribution is the processor cost_attribution: it writes to each
// resource what an hour of a core costs where its process runs, and to measured
// calls previews of the cost they stand for.
//
// The path of a batch: pricer.process looks up the price of each resource in the
// price book (package pricebook; prices.go is the same inside the collector's
// configuration), stamp writes it with its source, spend.preview adds the
// previews, and spendMeter.record adds the spend to the metrics. A price book that
// changes is loaded again.
//
// Its invariant: a price is a positive number that is configured or a public list
// price, or it is absent and the reason is there; never zero, never guessed.
//
// It does not compute costs: queries do, after the last stage that can drop a
// span. Previews are for a look at spans before that.
package costattribution

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
