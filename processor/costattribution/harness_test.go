package costattribution

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/pricebook"
)

// rig is a real processor between a test and a sink.
type rig struct {
	t         testing.TB
	processor processor.Traces
	sink      *consumertest.TracesSink
	metrics   *componenttest.Telemetry
	logs      *observer.ObservedLogs
}

func start(t testing.TB, config *Config) *rig {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	r := &rig{t: t, sink: new(consumertest.TracesSink), metrics: componenttest.NewTelemetry(), logs: logs}
	set := processortest.NewNopSettings(NewFactory().Type())
	set.TelemetrySettings = r.metrics.NewTelemetrySettings()
	set.Logger = zap.New(core)
	var err error
	r.processor, err = NewFactory().CreateTraces(context.Background(), set, config, r.sink)
	require.NoError(t, err)
	require.NoError(t, r.processor.Start(context.Background(), componenttest.NewNopHost()))
	t.Cleanup(func() {
		require.NoError(t, r.processor.Shutdown(context.Background()))
		require.NoError(t, r.metrics.Shutdown(context.Background()))
	})
	return r
}

func (r *rig) send(td ptrace.Traces) ptrace.Traces {
	r.t.Helper()
	r.sink.Reset()
	require.NoError(r.t, r.processor.ConsumeTraces(context.Background(), td))
	require.Len(r.t, r.sink.AllTraces(), 1)
	return r.sink.AllTraces()[0]
}

// counters are the processor's own metrics as lines, sorted, zeros left out.
func (r *rig) counters() []string {
	var lines []string
	var collected metricdata.ResourceMetrics
	require.NoError(r.t, r.metrics.Reader.Collect(context.Background(), &collected))
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			name, ours := strings.CutPrefix(m.Name, "otelcol_processor_cost_attribution_")
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok || !ours {
				continue
			}
			for _, point := range sum.DataPoints {
				line := name
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

// process adds a resource with the given location; absent parts are "".
func process(td ptrace.Traces, p pricebook.Place) ptrace.SpanSlice {
	rs := td.ResourceSpans().AppendEmpty()
	attributes := rs.Resource().Attributes()
	attributes.PutStr(methodspan.ResourceService, "shop")
	for name, value := range map[string]string{
		methodspan.ResourceHostType: p.HostType, methodspan.ResourceCapacityType: p.CapacityType,
		methodspan.ResourceRegion: p.Region, methodspan.ResourceCloudProvider: p.CloudProvider,
	} {
		if value != "" {
			attributes.PutStr(name, value)
		}
	}
	return rs.ScopeSpans().AppendEmpty().Spans()
}

// call adds a measured call.
func call(spans ptrace.SpanSlice, cpu int64, p, cpuP float64) ptrace.Span {
	span := spans.AppendEmpty()
	span.SetName("shop/cart.(*Cart).Total")
	span.Attributes().PutStr(methodspan.AttrKind, methodspan.KindCall)
	span.Attributes().PutInt(methodspan.AttrCPUTime, cpu)
	span.Attributes().PutDouble(methodspan.AttrP, p)
	span.Attributes().PutDouble(methodspan.AttrCPUP, cpuP)
	return span
}

// resourceOf returns the attributes stamped on a resource.
func resourceOf(td ptrace.Traces, i int) (price any, source string) {
	attributes := td.ResourceSpans().At(i).Resource().Attributes()
	if v, ok := attributes.Get(methodspan.AttrPrice); ok {
		price = v.AsRaw()
	}
	if v, ok := attributes.Get(methodspan.AttrPriceSource); ok {
		source = v.Str()
	}
	return price, source
}

// previewsOf returns the attributes stamped on a span.
func previewsOf(span ptrace.Span) (cpu, usd any) {
	if v, ok := span.Attributes().Get(methodspan.AttrPreviewCPU); ok {
		cpu = v.AsRaw()
	}
	if v, ok := span.Attributes().Get(methodspan.AttrPreviewUSD); ok {
		usd = v.AsRaw()
	}
	return cpu, usd
}
