// Package methodspans is the receiver method_spans. It receives spans over OTLP from
// the corehour SDK and any other OpenTelemetry SDK, and passes on spans of one form
// (contract 1 of the architecture).
//
// The path of a request: admission.Gate bounds the memory for decoding it.
// intake.ConsumeTraces drops duplicate batches (batches.claim) and normalises
// the rest (normalizer.normalize). Per span, methodspan.ParsedSpan reads the
// attributes. The normalizer then expands the counts of a process into one span
// per method (counts.go), writes the sampling probability of spans of other SDKs
// (foreign.go), corrects or drops impossible values (call.go, aggregate.go,
// process.go, plausibility.go) and bounds the number of distinct names
// (names.go). When the pipeline has accepted the request, batches.release
// remembers its batch numbers.
//
// Invariant: every received call is passed on or counted as lost. Of a faulty span
// only the smallest faulty part is removed, and counted by its reason.
//
// It does not implement OTLP: the stock OTLP receiver is embedded. It does not
// sample either.
package methodspans

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
//go:generate go run ./internal/boundsdoc ../..
