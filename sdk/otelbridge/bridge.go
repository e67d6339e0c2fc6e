// Package otelbridge ties measurements of corehour to the spans of OpenTelemetry:
//
//	corehour.Start(ctx, corehour.WithTraceContext(otelbridge.TraceContext))
//
// A chosen call that begins with BeginContext carries the trace of the span in its context, with that
// span as its parent. Its invariant: it copies only ids; sampling of the trace does not affect the
// measurement.
//
// It creates no spans and starts no tracing.
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
