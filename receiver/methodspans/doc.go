// Package methodspans is the receiver method_spans: it takes spans over OTLP,
// from the corehour SDK and from any other OpenTelemetry SDK, and hands on
// spans that all mean the same thing (contract 1 of the architecture).
//
// It drops repeated batches (batches.go), expands the counts of a process into
// one span per method (counts.go), stamps the spans of other SDKs with what is
// known of their probability (foreign.go), corrects or drops what cannot be
// true (call.go, aggregate.go, process.go) and keeps the number of distinct
// names bounded (names.go).
//
// Its invariant: calls that come in go out, or are a named loss; a fault costs
// the smallest part that is faulty and is counted by its reason.
//
// It does not speak OTLP itself: that is the stock OTLP receiver, embedded.
package methodspans

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
//go:generate go run ./internal/boundsdoc ../..
