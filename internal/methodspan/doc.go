// Package methodspan is the contract between the parts of corehour: the names of
// attributes (attributes.go), the parsed span (parsedspan.go) and resource
// (identity.go), the stored row (row.go), the conversion of spans to rows
// (convert.go), the parsing of function names (function.go), the composition of
// probabilities (probability.go) and the addition of rows (sum.go).
//
// Invariant: every part reads and writes these through this package, so a span has
// one meaning and a row has one shape. The package imports no other part.
//
// It makes no decisions: rates, prices and limits are elsewhere.
package methodspan
