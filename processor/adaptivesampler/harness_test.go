package adaptivesampler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// rig is a real processor between a test and a sink.
type rig struct {
	t         testing.TB
	processor processor.Traces
	sink      *consumertest.TracesSink
	metrics   *componenttest.Telemetry
	logs      *observer.ObservedLogs
	refuse    error // error of the next consumer
	stopped   bool
}

// start creates and starts the processor. With a seed its random bits are the same in every run.
func start(t testing.TB, config *Config, seed uint64) *rig {
	t.Helper()
	return startWith(t, config, seed, strategyOf(complete(config)), componenttest.NewNopHost())
}

func startWith(t testing.TB, config *Config, seed uint64, strategy decide.Strategy, host component.Host) *rig {
	t.Helper()
	r := build(t, config, seed, strategy)
	require.NoError(t, r.processor.Start(context.Background(), host))
	t.Cleanup(r.stop)
	return r
}

func build(t testing.TB, config *Config, seed uint64, strategy decide.Strategy) *rig {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	r := &rig{t: t, sink: new(consumertest.TracesSink), metrics: componenttest.NewTelemetry(), logs: logs}
	set := processortest.NewNopSettings(NewFactory().Type())
	set.TelemetrySettings = r.metrics.NewTelemetrySettings()
	set.Logger = zap.New(core)
	var err error
	next, err := consumer.NewTraces(func(ctx context.Context, td ptrace.Traces) error {
		if r.refuse != nil {
			return r.refuse
		}
		return r.sink.ConsumeTraces(ctx, td)
	})
	require.NoError(t, err)
	r.processor, err = newTraces(context.Background(), set, complete(config), next, strategy, seeded(seed))
	require.NoError(t, err)
	return r
}

// stop shuts the processor down. It can be called again.
func (r *rig) stop() {
	require.NoError(r.t, r.processor.Shutdown(context.Background()))
	if !r.stopped {
		require.NoError(r.t, r.metrics.Shutdown(context.Background()))
	}
	r.stopped = true
}

// complete fills the fields that a test leaves out with the defaults.
func complete(c *Config) *Config {
	plain := createDefaultConfig().(*Config)
	if c.DefaultRate == 0 {
		c.DefaultRate = plain.DefaultRate
	}
	if c.Strategy == "" {
		c.Deciding = plain.Deciding
	}
	if c.State.Interval == 0 {
		c.State.Interval = plain.State.Interval
	}
	return c
}

func seeded(seed uint64) func() uint64 {
	var mu sync.Mutex
	source := rand.NewPCG(seed, 0)
	return func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return source.Uint64()
	}
}

// send passes td through the processor and returns the output, empty if there is none.
func (r *rig) send(td ptrace.Traces) ptrace.Traces {
	r.t.Helper()
	r.sink.Reset()
	require.NoError(r.t, r.processor.ConsumeTraces(context.Background(), td))
	if len(r.sink.AllTraces()) == 0 {
		return ptrace.NewTraces()
	}
	return r.sink.AllTraces()[0]
}

// counters returns the processor's own metrics as sorted lines, without zeros.
func (r *rig) counters() []string {
	var lines []string
	var collected metricdata.ResourceMetrics
	require.NoError(r.t, r.metrics.Reader.Collect(context.Background(), &collected))
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok || !isOurs(m.Name) {
				continue
			}
			for _, point := range sum.DataPoints {
				line := m.Name[len(prefix):]
				for _, label := range point.Attributes.ToSlice() {
					line += fmt.Sprintf(" %s=%s", label.Key, label.Value.AsString())
				}
				lines = append(lines, fmt.Sprintf("%s: %d", line, point.Value))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

const prefix = "otelcol_processor_adaptive_sampler_"

func isOurs(name string) bool { return len(name) > len(prefix) && name[:len(prefix)] == prefix }

// batch builds a request with one scope.
type batch struct {
	ptrace.Traces
	spans ptrace.SpanSlice
}

func newBatch(scope string) batch {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr(methodspan.ResourceService, "shop")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(scope)
	return batch{td, ss.Spans()}
}

// call adds a measured call of our SDK.
func (b batch) call(function string, p float64, traceState string) ptrace.Span {
	span := b.spans.AppendEmpty()
	span.SetName(function)
	span.SetStartTimestamp(1_000_000)
	span.SetEndTimestamp(2_000_000)
	span.Attributes().PutStr(methodspan.AttrKind, methodspan.KindCall)
	span.Attributes().PutStr(methodspan.AttrFunction, function)
	span.Attributes().PutDouble(methodspan.AttrP, p)
	span.TraceState().FromRaw(traceState)
	return span
}

// foreign adds a method span of another SDK in the form in which the receiver passes it on.
func (b batch) foreign(name string, p float64, basis, traceState string, id pcommon.TraceID) ptrace.Span {
	span := b.call(name, p, traceState)
	span.Attributes().Remove(methodspan.AttrFunction)
	span.Attributes().PutStr(methodspan.AttrWeightBasis, basis)
	span.SetTraceID(id)
	return span
}

func spansOf(td ptrace.Traces) []ptrace.Span {
	var all []ptrace.Span
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				all = append(all, span)
			}
		}
	}
	return all
}

// measurementsOf returns the spans of a request without counts.
func measurementsOf(td ptrace.Traces) []ptrace.Span {
	return slices.DeleteFunc(spansOf(td), func(span ptrace.Span) bool { return text(span, methodspan.AttrKind) == methodspan.KindCounts })
}

func number(t testing.TB, span ptrace.Span, name string) float64 {
	t.Helper()
	v, ok := span.Attributes().Get(name)
	if !ok {
		t.Fatalf("%s is absent", name)
	}
	x, ok := methodspan.FloatOf(v)
	if !ok {
		t.Fatalf("%s is no number", name)
	}
	return x
}

// text returns an attribute as text, or "" if it is missing.
func text(span ptrace.Span, name string) string {
	if v, ok := span.Attributes().Get(name); ok {
		return v.AsString()
	}
	return ""
}
