package costattribution

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.uber.org/zap/zapcore"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/pricebook"
)

const twoPrices = `
prices:
- {cloud_provider: aws, region: eu, usd_per_core_hour: 0.05}
- {cloud_provider: aws, region: eu, capacity_type: spot, usd_per_core_hour: 0.02}
`

var (
	onDemand = pricebook.Place{CloudProvider: "aws", Region: "eu", HostType: "m7i.large", CapacityType: "on-demand"}
	spot     = pricebook.Place{CloudProvider: "aws", Region: "eu", CapacityType: "spot"}
	abroad   = pricebook.Place{CloudProvider: "aws", Region: "us"}
)

func TestPricer_Resources(t *testing.T) {
	r := start(t, &Config{PriceBook: priceBook(t, twoPrices), Previews: true})
	td := ptrace.NewTraces()
	for _, p := range []pricebook.Place{onDemand, spot, abroad, {}} {
		spans := process(td, p)
		call(spans, 1000, 1, 1)
		call(spans, 1000, 1, 1)
	}
	// A sender's own price is ignored.
	claimed := td.ResourceSpans().At(2).Resource().Attributes()
	claimed.PutDouble(methodspan.AttrPrice, 1e-9)
	claimed.PutStr(methodspan.AttrPriceSource, "me")
	out := r.send(td)
	for i, want := range []struct {
		price  any
		source string
	}{
		{0.05, "prices[0] aws/eu/*/*"},
		{0.02, "prices[1] aws/eu/*/spot"},
		{nil, "unpriced: no_entry"},
		{nil, "unpriced: no_attributes"},
	} {
		price, source := resourceOf(out, i)
		assert.Equal(t, want.price, price)
		assert.Equal(t, want.source, source)
	}
	assert.Equal(t, []string{
		"priced source=entry: 4",
		"unpriced reason=no_attributes: 2",
		"unpriced reason=no_entry: 2",
	}, r.counters())
}

func TestPricer_InlineDefaultAndNone(t *testing.T) {
	td := func() ptrace.Traces {
		td := ptrace.NewTraces()
		call(process(td, abroad), 1000, 1, 1)
		return td
	}
	r := start(t, &Config{Prices: &Prices{Default: &DefaultPrice{USDPerCoreHour: 0.04}, Currency: "CHF"}})
	price, source := resourceOf(r.send(td()), 0)
	assert.Equal(t, 0.04, price)
	assert.Equal(t, "default CHF", source)
	assert.Equal(t, []string{"priced source=default: 1"}, r.counters())
	assert.Zero(t, r.logs.Len())

	r = start(t, createDefaultConfig().(*Config))
	price, source = resourceOf(r.send(td()), 0)
	assert.Nil(t, price)
	assert.Equal(t, "unpriced: no_prices", source)
	assert.Equal(t, []string{"unpriced reason=no_prices: 1"}, r.counters())
	assert.Equal(t, 1, r.logs.FilterLevelExact(zapcore.InfoLevel).Len(), "a start says that there are no prices")
}

// Ordinary traces pass as they came; a resource that has both is ours.
func TestPricer_OrdinaryTraces(t *testing.T) {
	r := start(t, &Config{PriceBook: priceBook(t, twoPrices), Previews: true})
	td := ptrace.NewTraces()
	process(td, onDemand).AppendEmpty().SetName("GET /")
	mixed := process(td, onDemand)
	mixed.AppendEmpty().SetName("GET /")
	call(mixed, 1000, 1, 1)
	empty := td.ResourceSpans().AppendEmpty()
	empty.ScopeSpans().AppendEmpty()
	out := r.send(td)
	_, source := resourceOf(out, 0)
	assert.Empty(t, source)
	_, source = resourceOf(out, 1)
	assert.Equal(t, "prices[0] aws/eu/*/*", source)
	assert.Equal(t, 0, out.ResourceSpans().At(1).ScopeSpans().At(0).Spans().At(0).Attributes().Len())
	_, source = resourceOf(out, 2)
	assert.Empty(t, source)
}

func TestPricer_Previews(t *testing.T) {
	const hour = nanosPerHour
	for _, c := range []struct {
		name     string
		change   func(ptrace.Span)
		place    pricebook.Place
		cpu, usd any
	}{
		{"one call stands for two hundred", nil, onDemand, hour * 200, 200 * 0.05},
		{"without a price", nil, abroad, hour * 200, nil},
		{"price of the span", func(s ptrace.Span) { s.Attributes().PutDouble(methodspan.AttrPrice, 1) }, onDemand, hour * 200, 200.0},
		{"tail", func(s ptrace.Span) {
			s.Attributes().PutStr(methodspan.AttrStratum, methodspan.StratumTail)
			s.Attributes().PutDouble(methodspan.AttrP, 1)
		}, onDemand, hour * 20, 1.0},
		{"no CPU time", func(s ptrace.Span) { s.Attributes().Remove(methodspan.AttrCPUTime) }, onDemand, nil, nil},
		{"no probability", func(s ptrace.Span) { s.Attributes().Remove(methodspan.AttrP) }, onDemand, nil, nil},
		{"no CPU probability", func(s ptrace.Span) { s.Attributes().PutDouble(methodspan.AttrCPUP, 0) }, onDemand, nil, nil},
		{"no number", func(s ptrace.Span) { s.Attributes().PutDouble(methodspan.AttrCPUP, math.NaN()) }, onDemand, nil, nil},
		{"negative", func(s ptrace.Span) { s.Attributes().PutInt(methodspan.AttrCPUTime, -1) }, onDemand, nil, nil},
		{"process", func(s ptrace.Span) { s.Attributes().PutStr(methodspan.AttrKind, methodspan.KindProcess) }, onDemand, nil, nil},
		{"counts", func(s ptrace.Span) { s.Attributes().PutStr(methodspan.AttrKind, methodspan.KindCounts) }, onDemand, nil, nil},
		{"sum", func(s ptrace.Span) {
			s.Attributes().PutStr(methodspan.AttrKind, methodspan.KindAggregate)
			s.Attributes().PutInt(methodspan.AttrCPUSum, int64(3*hour))
			s.Attributes().PutInt(methodspan.AttrCPUMeasured, 7)
		}, onDemand, hour * 600, 600 * 0.05},
		{"sum of nothing", func(s ptrace.Span) {
			s.Attributes().PutStr(methodspan.AttrKind, methodspan.KindAggregate)
			s.Attributes().PutInt(methodspan.AttrCPUSum, 0)
			s.Attributes().PutInt(methodspan.AttrCPUMeasured, 0)
		}, onDemand, nil, nil},
		{"preview of an earlier stage", func(s ptrace.Span) {
			s.Attributes().PutDouble(methodspan.AttrPreviewCPU, 7)
			s.Attributes().PutDouble(methodspan.AttrPreviewUSD, 7)
		}, abroad, hour * 200, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, previews := range []bool{true, false} {
				r := start(t, &Config{PriceBook: priceBook(t, twoPrices), Previews: previews})
				td := ptrace.NewTraces()
				span := call(process(td, c.place), int64(hour), 0.1, 0.05)
				if c.change != nil {
					c.change(span)
				}
				before := span.Attributes().Len()
				out := r.send(td).ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
				if !previews {
					assert.Equal(t, before, out.Attributes().Len())
					continue
				}
				cpu, usd := previewsOf(out)
				closeTo(t, c.cpu, cpu)
				closeTo(t, c.usd, usd)
			}
		})
	}
}

func closeTo(t *testing.T, want, got any) {
	t.Helper()
	if want == nil {
		assert.Nil(t, got)
		return
	}
	require.NotNil(t, got)
	assert.InEpsilon(t, want, got, 1e-12)
}

func TestPricer_BookChangesWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := priceBook(t, "{list_prices: false, default: {usd_per_core_hour: -1}}")
		r := start(t, &Config{PriceBook: path})
		source := func() string {
			td := ptrace.NewTraces()
			call(process(td, onDemand), 1, 1, 1)
			_, source := resourceOf(r.send(td), 0)
			return source
		}
		change := func(text string) {
			writeFile(t, path, text)
			time.Sleep(2*configfile.Interval + time.Second)
			synctest.Wait()
		}
		assert.Equal(t, "unpriced: no_entry", source())
		require.Equal(t, 1, r.logs.FilterLevelExact(zapcore.WarnLevel).Len(), "a start tells of faulty entries")
		change("default: {usd_per_core_hour: 0.04}")
		assert.Equal(t, "default", source())
		change("default: {usd_per_core_hour: 0.0")
		assert.Equal(t, "default", source(), "a broken file changes nothing")
		change(twoPrices)
		assert.Equal(t, "prices[0] aws/eu/*/*", source())
		assert.Contains(t, r.counters(), "reloads result=applied: 2")
		assert.Contains(t, r.counters(), "reloads result=refused: 1")
	})
}

func TestStart_MissingFile(t *testing.T) {
	p, err := NewFactory().CreateTraces(context.Background(), processortest.NewNopSettings(NewFactory().Type()),
		&Config{PriceBook: t.TempDir() + "/absent"}, consumertest.NewNop())
	require.NoError(t, err, "creating touches no file")
	assert.ErrorContains(t, p.Start(context.Background(), componenttest.NewNopHost()), "no such file")
	assert.NoError(t, p.Shutdown(context.Background()))
}

func TestPricer_Shutdown(t *testing.T) {
	processortest.VerifyShutdown(t, NewFactory(), &Config{PriceBook: priceBook(t, twoPrices), Previews: true})
}

// A converter further down reads the stamped attributes.
func TestPricer_PriceReachesRows(t *testing.T) {
	r := start(t, &Config{PriceBook: priceBook(t, twoPrices), Previews: true})
	td := ptrace.NewTraces()
	for _, p := range []pricebook.Place{spot, abroad} {
		span := call(process(td, p), 1000, 1, 1)
		span.SetEndTimestamp(2000)
	}
	items, skipped := methodspan.NewConverter().Items(r.send(td))
	assert.Zero(t, skipped)
	require.Len(t, items, 1)
	require.Len(t, items[0].Rows, 2)
	require.NotNil(t, items[0].Rows[0].USDPerCoreHour)
	assert.Equal(t, 0.02, *items[0].Rows[0].USDPerCoreHour)
	assert.Equal(t, "prices[1] aws/eu/*/spot", items[0].Rows[0].PriceSource)
	assert.Nil(t, items[0].Rows[1].USDPerCoreHour)
	assert.Equal(t, "unpriced: no_entry", items[0].Rows[1].PriceSource)
}
