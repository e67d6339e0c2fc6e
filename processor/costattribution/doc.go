// Package costattribution is the processor cost_attribution: it writes the price of a core-hour to each
// resource, and cost previews to measured calls.
//
// The path of a batch: pricer.process looks up the price of each resource in the
// price book (package pricebook; prices.go is the same inside the collector's
// configuration), stamp writes it with its source, spend.preview adds the
// previews, and spendMeter.record adds the spend to the metrics. A price book that
// changes is loaded again.
//
// Its invariant: a price is a positive number from the configuration or a public list, or it is absent with a
// reason. It is never zero and never guessed.
//
// It does not compute costs: queries do, after the last stage that can drop a span. Previews are for people who
// read spans before that.
package costattribution

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
