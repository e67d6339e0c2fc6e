// Package warehouse is the exporter warehouse: it turns method spans into rows
// and writes them to the warehouse in batches, from a bounded queue that never
// blocks the pipeline.
//
// Its invariant: every row that was taken is stored, or folded into a sum that
// is stored, or counted by name as a loss. Counted calls come out exactly as
// they went in. What does not fit into the queue, and what can't be written, is
// folded (fold.go): the measurements of a cell are added up so that every
// estimate made from them stays the same.
//
// It does not sample, price or query; it stores what the pipeline decided.
package warehouse

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
