package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// peers are tracers of the OpenTelemetry SDK, set up as one would to save costs.
type peers struct {
	none, never, rare, always trace.Tracer
}

func newPeers() peers {
	tracer := func(sampler sdktrace.Sampler) trace.Tracer {
		provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithBatcher(forget{}))
		return provider.Tracer("bench")
	}
	return peers{
		none:   noop.NewTracerProvider().Tracer("bench"),
		never:  tracer(sdktrace.NeverSample()),
		rare:   tracer(sdktrace.TraceIDRatioBased(rare)),
		always: tracer(sdktrace.AlwaysSample()),
	}
}

// forget is an exporter without costs: the batch processor is the real one.
type forget struct{}

func (forget) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (forget) Shutdown(context.Context) error                             { return nil }

//go:noinline
func spanned(ctx context.Context, tracer trace.Tracer, x int) int {
	_, span := tracer.Start(ctx, "bench")
	x++
	span.End()
	return x
}

//go:noinline
func deepSpanned(ctx context.Context, tracer trace.Tracer, n int) int {
	ctx, span := tracer.Start(ctx, "bench")
	if n > 0 {
		n = deepSpanned(ctx, tracer, n-1)
	}
	span.End()
	return n
}

// The metrics of Prometheus are held ready, as code that saves costs does: no
// labels are looked up.
var (
	promCalls   = prometheus.NewCounter(prometheus.CounterOpts{Name: "bench_calls_total"})
	promSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "bench_seconds"})
)

//go:noinline
func observed(x int) int {
	begin := time.Now()
	x++
	promCalls.Inc()
	promSeconds.Observe(time.Since(begin).Seconds())
	return x
}

//go:noinline
func counted(x int) int {
	promCalls.Inc()
	return x + 1
}
