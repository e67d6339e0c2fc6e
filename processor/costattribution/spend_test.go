package costattribution

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/corehour/corehour/internal/methodspan"
)

// amounts are the metrics of core hours and dollars, by name and labels.
func (r *rig) amounts() map[string]float64 {
	found := map[string]float64{}
	var collected metricdata.ResourceMetrics
	require.NoError(r.t, r.metrics.Reader.Collect(context.Background(), &collected))
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[float64])
			if !ok {
				continue
			}
			for _, point := range sum.DataPoints {
				name := strings.TrimPrefix(m.Name, "otelcol_processor_cost_attribution_")
				for _, label := range point.Attributes.ToSlice() {
					name += fmt.Sprintf(" %s=%s", label.Key, label.Value.AsString())
				}
				found[name] = point.Value
			}
		}
	}
	return found
}

// The CPU time of a process is counted once; of nested calls only the outermost is counted.
func TestSpend_ByServiceAndTier(t *testing.T) {
	const hour = 3_600_000_000_000
	r := start(t, &Config{Previews: true, PriceBook: priceBook(t, twoPrices)})
	td := ptrace.NewTraces()
	spans := process(td, spot)
	price := 0.0
	own := spans.AppendEmpty()
	own.Attributes().PutStr(methodspan.AttrKind, methodspan.KindProcess)
	own.Attributes().PutInt(methodspan.AttrCPUTime, hour/2)
	for _, c := range []struct {
		caller, tier string
		cpu          int64
	}{{methodspan.CallerEntry, "entry", hour / 100}, {methodspan.CallerEntry, "", hour / 1000}, {"shop/web.Checkout", "inner", hour / 200}, {"", "inner", hour / 200}} {
		span := call(spans, c.cpu, 0.5, 0.1)
		if c.caller != "" {
			span.Attributes().PutStr(methodspan.AttrCaller, c.caller)
		}
		if c.tier != "" {
			span.Attributes().PutStr(methodspan.AttrTier, c.tier)
		}
	}
	for range 2 {
		copied := ptrace.NewTraces()
		td.CopyTo(copied)
		v, _ := r.send(copied).ResourceSpans().At(0).Resource().Attributes().Get(methodspan.AttrPrice)
		price = v.Double()
	}
	require.Positive(t, price)
	found := r.amounts()
	assert.Len(t, found, 6)
	assert.InEpsilon(t, 1, found["process_core_hours service=shop"], 1e-9)
	assert.InEpsilon(t, price, found["process_cost service=shop"], 1e-9)
	assert.InEpsilon(t, 2*0.01/0.05, found["entry_core_hours service=shop tier=entry"], 1e-9)
	assert.InEpsilon(t, price*2*0.01/0.05, found["entry_cost service=shop tier=entry"], 1e-9)
	assert.InEpsilon(t, 2*0.001/0.05, found["entry_core_hours service=shop tier=(none)"], 1e-9)
}

// Services and tiers beyond the bounds are added up under a name of their own.
func TestSpend_LabelsBounded(t *testing.T) {
	r := start(t, &Config{Previews: true, PriceBook: priceBook(t, twoPrices)})
	for i := range maxServices + 50 {
		td := ptrace.NewTraces()
		spans := process(td, spot)
		td.ResourceSpans().At(0).Resource().Attributes().PutStr(methodspan.ResourceService, fmt.Sprint("service", i))
		span := call(spans, 1000, 1, 1)
		span.Attributes().PutStr(methodspan.AttrCaller, methodspan.CallerEntry)
		span.Attributes().PutStr(methodspan.AttrTier, fmt.Sprint("tier", i))
		r.send(td)
	}
	services, total := map[string]bool{}, 0.0
	for name, value := range r.amounts() {
		if labels, ok := strings.CutPrefix(name, "entry_core_hours service="); ok {
			service, _, _ := strings.Cut(labels, " tier=")
			services[service] = true
			total += value
		}
	}
	assert.Len(t, services, maxServices+1)
	assert.True(t, services[other])
	assert.InEpsilon(t, 1000.0*(maxServices+50)/nanosPerHour, total, 1e-9, "nothing is lost")
}
