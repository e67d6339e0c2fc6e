// Package samplingrates is the extension sampling_rates: it serves the rates of the adaptive sampler over HTTP,
// to corehour SDKs by long polls (poll.go) and to stock SDKs by Jaeger's remote sampling (jaeger.go), which is
// also served over gRPC (grpc.go). It also explains the rate of a method (explain.go).
//
// The path of a poll: server.serveRates parses the query and gets the table from
// the published source. If the client has it, server.waitForChange holds the
// request until the source closes its channel. answers.of encodes the table once
// for all clients, and exchange.send writes it.
//
// Its invariant: one change costs one encoding per table, however many clients
// wait for it, and they are woken spread over time; beyond a bound clients are
// answered at once instead of waiting.
//
// It decides nothing: rates come from the source that is published to it
// (publication.go). It remembers the rates it served to stock SDKs (served.go),
// because their spans do not carry the probability they were kept with.
package samplingrates

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
