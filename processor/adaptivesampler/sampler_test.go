package adaptivesampler

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.uber.org/zap/zapcore"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
)

const twoTiers = `{"version": 1,
  "tiers": {"inner": {"rate": 0.25}, "entry": {"rate": 1}},
  "methods": [
    {"match": "shop/cart.*", "tier": "inner"},
    {"class": "shop/web.Handler", "method": "*", "tier": "entry"},
    {"class": "shop/web.Handler", "method": "Ping", "mode": "off"},
    {"class": "http", "method": "GET /cart", "rate": 0.5}
  ]}`

// The table lists probabilities and trace states before and after the sampler. rv and trace ids are fixed, so the
// results are deterministic except where noted.
func TestSampler_Decisions(t *testing.T) {
	high := pcommon.TraceID{15: 1, 9: 0xff}
	low := pcommon.TraceID{15: 1}
	for _, c := range []struct {
		name       string
		p          float64
		basis      string
		state      string
		id         pcommon.TraceID
		keep       bool
		wantP      float64
		wantState  string
		contradict string
	}{
		{name: "our p below the rate", p: 0.1, state: "ot=th:e6666666666668;rv:f0000000000000", keep: true, wantP: 0.1, wantState: "ot=th:e6666666666668;rv:f0000000000000"},
		{name: "our p equal to the rate", p: 0.25, state: "ot=th:c;rv:c0000000000000", keep: true, wantP: 0.25, wantState: "ot=th:c;rv:c0000000000000"},
		{name: "R at the threshold", p: 1, state: "ot=th:0;rv:c0000000000000", keep: true, wantP: 0.25, wantState: "ot=th:c;rv:c0000000000000"},
		{name: "R below the threshold", p: 1, state: "ot=th:0;rv:bfffffffffffff"},
		{name: "R above both", p: 0.5, state: "ot=th:8;rv:d0000000000000", keep: true, wantP: 0.25, wantState: "ot=th:c;rv:d0000000000000"},
		{name: "R between", p: 0.5, state: "ot=th:8;rv:a0000000000000"},
		{name: "other members stay", p: 0.5, state: "a=b,ot=th:8;rv:d0000000000000;x:y,c=d", keep: true, wantP: 0.25,
			wantState: "ot=rv:d0000000000000;th:c;x:y,a=b,c=d"},
		{name: "thinned in between, below the rate", p: 1, state: "ot=th:f;rv:f1000000000000", keep: true, wantP: 1.0 / 16,
			wantState: "ot=th:f;rv:f1000000000000", contradict: "probability"},
		{name: "thinned in between, above the rate", p: 1, state: "ot=th:8;rv:d0000000000000", keep: true, wantP: 0.25,
			wantState: "ot=th:c;rv:d0000000000000", contradict: "probability"},
		{name: "th above R, p low enough", p: 0.1, state: "ot=th:e;rv:10000000000000", keep: true, wantP: 0.1,
			wantState: "ot=rv:10000000000000", contradict: "itself"},
		{name: "unreadable, p low enough", p: 0.1, state: "ot=th:e;rv:xyz", keep: true, wantP: 0.1, wantState: "ot=th:e;rv:xyz", contradict: "unreadable"},
		{name: "th rounded to four digits", p: 0.3, state: "ot=th:b333;rv:f0000000000000", keep: true, wantP: 0.25, wantState: "ot=th:c;rv:f0000000000000"},

		{name: "foreign, R is the trace id", p: 0.5, basis: methodspan.BasisThreshold, state: "ot=th:8", id: high, keep: true, wantP: 0.25, wantState: "ot=th:c"},
		{name: "foreign, trace id too low", p: 1, basis: methodspan.BasisThreshold, state: "ot=th:0", id: low},
		{name: "foreign, rv before the trace id", p: 1, basis: methodspan.BasisThreshold, state: "ot=th:0;rv:f0000000000000", id: low, keep: true,
			wantP: 0.25, wantState: "ot=th:c;rv:f0000000000000"},
		{name: "foreign, p low enough", p: 0.2, basis: methodspan.BasisAssumed, id: low, keep: true, wantP: 0.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, &Config{MethodsFile: methodsFile(t, twoTiers), DefaultRate: 1}, 1)
			b := newBatch("shop/cart")
			if c.basis == "" {
				b.call("shop/cart.(*Cart).Total", c.p, c.state)
			} else {
				b.foreign("Total", c.p, c.basis, c.state, c.id)
			}
			out := measurementsOf(r.send(b.Traces))
			if !c.keep {
				assert.Empty(t, out)
				assert.Contains(t, r.counters(), "spans outcome=thinned tier=inner: 1")
				return
			}
			require.Len(t, out, 1)
			assert.Equal(t, c.wantP, number(t, out[0], methodspan.AttrP))
			assert.NotContains(t, out[0].Attributes().AsRaw(), methodspan.AttrEffectiveRate, "corehour.p says it")
			assert.Equal(t, 0.25, number(t, out[0], methodspan.AttrConfiguredRate))
			assert.Equal(t, c.wantState, out[0].TraceState().AsRaw())
			assert.Contains(t, r.counters(), "spans outcome=kept tier=inner: 1")
			if c.contradict != "" {
				assert.Contains(t, r.counters(), "contradictions contradiction="+c.contradict+": 1")
			}
		})
	}
}

// Attributes of an earlier sampler are updated when the rate changes.
func TestSampler_UpdatesEarlierAttributes(t *testing.T) {
	r := start(t, &Config{MethodsFile: methodsFile(t, `{"version": 1, "methods": [{"class": "c", "method": "m", "rate": 0.25}]}`), DefaultRate: 1}, 1)
	b := newBatch("scope")
	span := b.call("c.m", 0.5, "ot=th:8;rv:f0000000000000")
	span.Attributes().PutStr(methodspan.AttrTier, "outer")
	span.Attributes().PutDouble(methodspan.AttrConfiguredRate, 0.5)
	span.Attributes().PutDouble(methodspan.AttrEffectiveRate, 0.5)
	out := spansOf(r.send(b.Traces))
	require.Len(t, out, 1)
	assert.NotContains(t, out[0].Attributes().AsRaw(), methodspan.AttrTier)
	for _, name := range []string{methodspan.AttrP, methodspan.AttrConfiguredRate, methodspan.AttrEffectiveRate} {
		assert.Equal(t, 0.25, number(t, out[0], name), name)
	}
}

// Spans that are not measurements pass at any rate. Methods that are off are dropped except for their counts.
func TestSampler_NeverThinned(t *testing.T) {
	r := start(t, &Config{MethodsFile: methodsFile(t, `{"version": 1, "defaults": {"rate": 1e-9}, "tiers": {"t": {}},
		"methods": [{"class": "c", "method": "off", "mode": "off", "tier": "t"}]}`), DefaultRate: 1}, 1)
	b := newBatch("scope")
	for _, function := range []string{"c.on", "c.off"} {
		counts := b.call(function, 1, "")
		counts.Attributes().PutStr(methodspan.AttrKind, methodspan.KindCounts)
		counts.Attributes().Remove(methodspan.AttrP)
		counts.Attributes().PutInt(methodspan.AttrCalls, 7)
		aggregate := b.call(function, 0.5, "ot=th:0;rv:00000000000000")
		aggregate.Attributes().PutStr(methodspan.AttrKind, methodspan.KindAggregate)
		slow := b.call(function, 1, "ot=th:0;rv:00000000000000")
		slow.Attributes().PutStr(methodspan.AttrStratum, methodspan.StratumTail)
	}
	process := b.call("", 1, "")
	process.Attributes().PutStr(methodspan.AttrKind, methodspan.KindProcess)
	ordinary := b.spans.AppendEmpty()
	ordinary.SetName("GET /")
	ordinary.Attributes().PutStr(methodspan.AttrFunction, "c.off")
	b.call("c.on", 0, "") // without a probability
	b.call("c.on", 1, "ot=th:0;rv:00000000000000")

	out := spansOf(r.send(b.Traces))
	var got []string
	for _, span := range out {
		got = append(got, strings.Join([]string{span.Name(), text(span, methodspan.AttrKind), text(span, methodspan.AttrTier),
			text(span, methodspan.AttrReason), text(span, methodspan.AttrP)}, "|"))
	}
	assert.Equal(t, []string{
		"c.on|counts||defaults|",
		"c.on|aggregate||defaults|0.5",
		"c.on|call||defaults|1",
		"c.off|counts|t|methods[0] c.off|",
		"|process|||1",
		"GET /||||",
		"c.on|call|||0",
	}, got)
	assert.Equal(t, 1, out[5].Attributes().Len(), "not ours to touch")
	assert.Equal(t, []string{
		"spans outcome=exempt tier=(none): 3",
		"spans outcome=exempt tier=t: 1",
		"spans outcome=off tier=t: 2",
		"spans outcome=other tier=(none): 1",
		"spans outcome=tail tier=(none): 1",
		"spans outcome=thinned tier=(none): 1",
		"spans outcome=unweighted tier=(none): 1",
	}, r.counters())
}

func TestSampler_ReasonsAndTiers(t *testing.T) {
	for _, c := range []struct{ file, function, tier, reason string }{
		{twoTiers, "shop/cart.(*Cart).Total", "inner", "methods[0] shop/cart.*"},
		{twoTiers, "shop/web.Handler.Get", "entry", "methods[1] shop/web.Handler.*"},
		{twoTiers, "other.f", "", "default_rate"},
		{`{"version": 1, "defaults": {"rate": 0.5, "tier": "t"}, "tiers": {"t": {}}}`, "f", "t", "defaults"},
		{`{"version": 1, "methods": [{"match": "f*"}]}`, "f", "", "methods[0] f*"},
		{"", "f", "", "default_rate"},
	} {
		config := &Config{DefaultRate: 0.75}
		if c.file != "" {
			config.MethodsFile = methodsFile(t, c.file)
		}
		r := start(t, config, 1)
		b := newBatch("scope")
		b.call(c.function, 1e-6, "").Attributes().PutStr(methodspan.AttrTier, "of an earlier stage")
		out := spansOf(r.send(b.Traces))
		require.Len(t, out, 1)
		tier, hasTier := out[0].Attributes().Get(methodspan.AttrTier)
		assert.Equal(t, c.tier != "", hasTier, c.function)
		if hasTier {
			assert.Equal(t, c.tier, tier.Str())
		}
		assert.Equal(t, c.reason, text(out[0], methodspan.AttrReason))
	}
}

// The method of a foreign span is found by any of its identifying names.
func TestSampler_Identities(t *testing.T) {
	r := start(t, &Config{MethodsFile: methodsFile(t, twoTiers), DefaultRate: 1}, 1)
	b := newBatch("http")
	b.foreign("GET /cart", 1e-6, methodspan.BasisAssumed, "", pcommon.TraceID{})
	old := b.foreign("x", 1e-6, methodspan.BasisAssumed, "", pcommon.TraceID{})
	old.Attributes().PutStr(methodspan.AttrOldNamespace, "shop/web.Handler")
	old.Attributes().PutStr(methodspan.AttrOldFunction, "Get")
	newer := b.foreign("x", 1e-6, methodspan.BasisAssumed, "", pcommon.TraceID{})
	newer.Attributes().PutStr(methodspan.AttrFunction, "shop/cart.Sum")
	for range 2 { // the second run uses the cache
		var reasons []string
		for _, span := range measurementsOf(r.send(b.Traces)) {
			reasons = append(reasons, text(span, methodspan.AttrReason))
		}
		assert.Equal(t, []string{"methods[3] http.GET /cart", "methods[1] shop/web.Handler.*", "methods[0] shop/cart.*"}, reasons)
	}
}

func TestSampler_RemovesEmptyScopesAndResources(t *testing.T) {
	r := start(t, &Config{MethodsFile: methodsFile(t, twoTiers), DefaultRate: 1}, 1)
	b := newBatch("a")
	b.call("shop/web.Handler.Ping", 1, "")
	kept := b.ResourceSpans().At(0).ScopeSpans().AppendEmpty()
	span := kept.Spans().AppendEmpty()
	span.SetName("ordinary")
	whole := newBatch("c")
	whole.call("shop/web.Handler.Ping", 1, "")
	whole.ResourceSpans().MoveAndAppendTo(b.ResourceSpans())
	out := r.send(b.Traces)
	require.Equal(t, 1, out.ResourceSpans().Len())
	assert.Equal(t, 1, out.ResourceSpans().At(0).ScopeSpans().Len())

	b = newBatch("a")
	b.call("shop/web.Handler.Ping", 1, "")
	r.send(b.Traces)
	assert.Empty(t, r.sink.AllTraces(), "an empty batch is not passed on")
}

func TestSampler_FileChangesWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := methodsFile(t, `{"version": 1, "methods": [{"match": "a*", "rate": 2}]}`)
		r := start(t, &Config{MethodsFile: path, DefaultRate: 1}, 1)
		reason := func() string {
			b := newBatch("")
			b.call("abc", 1e-6, "")
			return text(spansOf(r.send(b.Traces))[0], methodspan.AttrReason)
		}
		change := func(text string) {
			writeFile(t, path, text)
			time.Sleep(2*configfile.Interval + time.Second)
			synctest.Wait()
		}
		assert.Equal(t, "default_rate", reason())
		require.Equal(t, 1, r.logs.FilterLevelExact(zapcore.WarnLevel).Len(), "a start tells of faulty entries")
		assert.Contains(t, r.logs.All()[0].ContextMap()["fault"], "methods[0].rate (line 1): must be between 1e-09 and 1, found 2")

		change(`{"version": 1, "methods": [{"match": "a*", "rate": 0.5}]}`)
		assert.Equal(t, "methods[0] a*", reason())
		change(`{"version": 1, "methods": [{"match": "b*", "rate": 0.5}`)
		assert.Equal(t, "methods[0] a*", reason(), "a broken file changes nothing")
		assert.Equal(t, 1, r.logs.FilterLevelExact(zapcore.ErrorLevel).Len())
		require.NoError(t, os.Remove(path))
		change(`{"version": 1, "methods": [{"match": "b*"}, {"match": "ab*", "rate": 0.5}]}`)
		assert.Equal(t, "methods[1] ab*", reason())
		assert.Contains(t, r.counters(), "reloads result=applied: 2")
		assert.Contains(t, r.counters(), "reloads result=refused: 1")
	})
}

func TestStart_MissingFile(t *testing.T) {
	config := complete(&Config{MethodsFile: methodsFile(t, "{"), DefaultRate: 1})
	p, err := NewFactory().CreateTraces(context.Background(), processortest.NewNopSettings(NewFactory().Type()), config, consumertest.NewNop())
	require.NoError(t, err, "creating touches no file")
	assert.ErrorContains(t, p.Start(context.Background(), componenttest.NewNopHost()), "not JSON")
	assert.NoError(t, p.Shutdown(context.Background()))
}

func TestSampler_Shutdown(t *testing.T) {
	processortest.VerifyShutdown(t, NewFactory(), complete(&Config{DefaultRate: 1, MethodsFile: methodsFile(t, twoTiers)}))
}

func TestSampler_TierLabelsBounded(t *testing.T) {
	r := start(t, &Config{DefaultRate: 1}, 1)
	tel, err := newTelemetry(r.metrics.NewTelemetrySettings())
	require.NoError(t, err)
	first := tel.label("t0")
	for i := range 100 {
		tel.label(fmt.Sprint("t", i))
	}
	assert.Equal(t, noTier, tel.label(""))
	assert.Equal(t, first, tel.label("t0"))
	assert.Equal(t, labelCount-1, tel.label("t63"))
	assert.Equal(t, overflowTier, tel.label("t64"))
}

// Concurrent batches during changes of the file lose and mix up nothing.
func TestSampler_ConcurrentBatches(t *testing.T) {
	path := methodsFile(t, `{"version": 1, "defaults": {"rate": 0.5}}`)
	r := start(t, &Config{MethodsFile: path, DefaultRate: 1}, 3)
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Go(func() {
			for i := range 50 {
				b := newBatch("")
				for j := range 20 {
					b.call(fmt.Sprint("f", (g*i+j)%100), 0.5, "")
				}
				assert.NoError(t, r.processor.ConsumeTraces(context.Background(), b.Traces))
			}
		})
	}
	wait.Wait()
	assert.Equal(t, 8*50*20, r.sink.SpanCount())
	assert.Equal(t, []string{"spans outcome=kept tier=(none): 8000"}, r.counters())
}
