package adaptivesampler

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/corehour/corehour/internal/methodspan"
)

// mixture returns a request that contains every kind of span.
func mixture(seed uint64) ptrace.Traces {
	random := rand.New(rand.NewPCG(seed, 1))
	b := of("1")
	for i := range 200 {
		if span, ok := mixed(ours(0.3, plain), consistent(0.4, true), stock(0.5))(b, random, i); ok {
			span.Attributes().PutStr(methodspan.AttrTier, "of an earlier stage")
		}
	}
	counts(b, "shop/cart.(*Cart).Total", 100)
	aggregate := b.call("shop/cart.(*Cart).Total", 0.5, "")
	aggregate.Attributes().PutStr(methodspan.AttrKind, methodspan.KindAggregate)
	b.call("shop/cart.(*Cart).Total", 1, "").Attributes().PutStr(methodspan.AttrStratum, methodspan.StratumTail)
	return b.Traces
}

// In shadow the output equals the input byte for byte, and no rates are served.
func TestShadow_ChangesNothing(t *testing.T) {
	for _, rate := range []float64{0.01, 0} {
		synctest.Test(t, func(t *testing.T) {
			config := adaptive()
			config.Shadow = true
			config.MethodsFile = methodsFile(t, `{"version": 1, "methods": [{"match": "shop/cart.*"}, {"match": "x*", "mode": "off"}]}`)
			s, d := &scripted{unknown: 0.5, class: "mid"}, &desk{}
			s.say("Total", rate)
			r := startWith(t, config, 1, s, host{deskID: d})
			for seed := range uint64(4) {
				want := mixture(seed)
				got := r.send(mixture(seed))
				marshaler := &ptrace.ProtoMarshaler{}
				a, err := marshaler.MarshalTraces(want)
				require.NoError(t, err)
				b, err := marshaler.MarshalTraces(got)
				require.NoError(t, err)
				assert.Equal(t, a, b)
				turn(t)
			}
			table, _ := d.source.Rates(shop1)
			assert.Nil(t, table.Default.P)
			for _, served := range table.Methods {
				assert.Nil(t, served.P, served.Name)
				assert.Empty(t, served.Mode, served.Name)
			}
			assert.Empty(t, table.Operations)
			explained := d.source.Explain(shop1, "shop/cart.(*Cart).Total")[0]
			assert.True(t, explained.Shadow)
			assert.Equal(t, rate, explained.RateAsked, "what would be")
			assert.Contains(t, explained.Reason, "shadow")
		})
	}
}

// The number of records that shadow predicts is the expected number kept without shadow.
func TestShadow_ReportsIntendedDecisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		halfPast()
		s := &scripted{unknown: 0.1}
		config := adaptive()
		config.Rates, config.Shadow = nil, []any{"inner"}
		config.PriceBook = filepath.Join(t.TempDir(), "prices.yaml")
		require.NoError(t, os.WriteFile(config.PriceBook, []byte("default: {usd_per_core_hour: 0.05}\n"), 0o600))
		s.class = "inner"
		s.say("f", 0.1)
		s.say("off", 0)
		r := startWith(t, config, 1, s, componenttest.NewNopHost())
		send := func() {
			b := of("1")
			for i := range 100 {
				span := lasting(b.call("f", 0.5, ""), 1)
				span.Attributes().PutInt(methodspan.AttrCPUTime, int64(1000*(1+i%2)))
				span.Attributes().PutDouble(methodspan.AttrCPUP, 1)
				b.call("off", 0.5, "")
			}
			counts(b, "f", 200)
			out := r.send(b.Traces)
			require.NotNil(t, out)
		}
		send() // the class is not known yet: thinned
		turn(t)
		send()
		turn(t)
		figures := r.figures()
		assert.InDelta(t, 20, figures["shadow_records tier=(none) fate=kept"], 1e-9)
		assert.InDelta(t, 180, figures["shadow_records tier=(none) fate=dropped"], 1e-9)
		assert.Equal(t, 20.0*rowBytes, figures["shadow_bytes tier=(none) fate=kept"])
		// 400 calls in two minutes, 1.5 us each, at 5 cents a core hour.
		assert.InEpsilon(t, 400.0/120*1500/1e9*24*0.05, figures["shadow_cost tier=(none)"], 0.05)
		now, then := figures["shadow_error tier=(none) rates=arriving"], figures["shadow_error tier=(none) rates=shadow"]
		assert.Greater(t, now, 0.0)
		assert.InEpsilon(t, 3, then/now, 1e-9, "sqrt((1-0.1)/0.1 / ((1-0.5)/0.5)) = 3")
	})
}

// figures returns the processor's own metrics by name and labels.
func (r *rig) figures() map[string]float64 {
	found := make(map[string]float64)
	var collected metricdata.ResourceMetrics
	require.NoError(r.t, r.metrics.Reader.Collect(context.Background(), &collected))
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			if !isOurs(m.Name) {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				addPoints(found, m.Name, data.DataPoints)
			case metricdata.Sum[float64]:
				addPoints(found, m.Name, data.DataPoints)
			case metricdata.Gauge[int64]:
				addPoints(found, m.Name, data.DataPoints)
			case metricdata.Gauge[float64]:
				addPoints(found, m.Name, data.DataPoints)
			}
		}
	}
	return found
}

func addPoints[N int64 | float64](to map[string]float64, name string, points []metricdata.DataPoint[N]) {
	for _, point := range points {
		line := name[len(prefix):]
		for _, key := range []string{"tier", "class", "fate", "rates", "reason", "figure", "result", "outcome", "contradiction"} {
			if v, ok := point.Attributes.Value(attribute.Key(key)); ok {
				line += " " + key + "=" + v.AsString()
			}
		}
		to[line] = float64(point.Value)
	}
}
