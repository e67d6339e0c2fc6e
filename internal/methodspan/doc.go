// Package methodspan is the contract between the parts of corehour, in code:
// the names of what travels (attributes.go), the row that is stored (row.go),
// how a span becomes a row (convert.go), what a function name means
// (function.go), how probabilities compose (probability.go) and how rows add
// up (sum.go).
//
// Its invariant: every part reads and writes these through this package, so a
// span has one meaning and a row has one shape; it imports no other part.
//
// It does not decide anything: no rates, no prices, no limits live here.
package methodspan
