// Package samplingrates is the extension sampling_rates: it serves over HTTP
// what the adaptive sampler decides, to corehour SDKs by long polls (poll.go), to
// stock SDKs as Jaeger's remote sampling (jaeger.go), which it serves over gRPC,
// too (grpc.go), and to people why a method
// has its rate (explain.go).
//
// Its invariant: one change costs one encoding per table, however many clients
// wait for it, and they are woken spread over time; beyond a bound clients are
// answered at once instead of waiting.
//
// It decides nothing: rates come from the source that is published to it
// (publication.go). It remembers what it told stock SDKs (served.go), because
// their spans do not say with what probability they were kept.
package samplingrates

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
