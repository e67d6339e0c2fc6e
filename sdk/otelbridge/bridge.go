// Package otelbridge ties measurements of corehour to the spans of OpenTelemetry:
//
//	corehour.Start(ctx, corehour.WithTraceContext(otelbridge.TraceContext))
//
// A method that begins with BeginContext and is chosen then carries the trace of
// the span in its context and has that span as its parent. Its invariant: only ids
// are taken over; whether the trace is sampled has no say in what is measured.
//
// It makes no spans and starts no tracing.
package otelbridge

import (
	"context"

	"github.com/corehour/corehour/sdk"
	"go.opentelemetry.io/otel/trace"
)

// TraceContext finds the current span of OpenTelemetry.
func TraceContext(ctx context.Context) (corehour.TraceContext, bool) {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return corehour.TraceContext{}, false
	}
	return corehour.TraceContext{TraceID: span.TraceID(), SpanID: span.SpanID()}, true
}
