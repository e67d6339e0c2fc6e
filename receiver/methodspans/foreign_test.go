package methodspans

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// foreign makes a request as a stock SDK sends it.
func foreign(service string, fill func(ptrace.SpanSlice)) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr(methodspan.ResourceService, service)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("io.shop.web")
	fill(ss.Spans())
	return td
}

func addForeign(spans ptrace.SpanSlice, id, parent byte) ptrace.Span {
	span := spans.AppendEmpty()
	span.SetName("GET /cart")
	span.SetTraceID(pcommon.TraceID{4, 9: 0x80}) // randomness 0x80000000000000
	span.SetSpanID(pcommon.SpanID{id})
	if parent != 0 {
		span.SetParentSpanID(pcommon.SpanID{parent})
	}
	span.SetStartTimestamp(pcommon.Timestamp(noon))
	span.SetEndTimestamp(pcommon.Timestamp(noon + second))
	span.Attributes().PutStr("http.route", "/cart")
	return span
}

func TestForeign_Probability(t *testing.T) {
	cases := []struct {
		name, state string
		p           float64
		basis       string
		after       string // the trace state behind
		faults      []string
	}{
		{name: "no trace state", p: 0.2, basis: "assumed"},
		{name: "no ot member", state: "dd=s:1", after: "dd=s:1", p: 0.2, basis: "assumed"},
		{name: "rv only", state: "ot=rv:80000000000000", after: "ot=rv:80000000000000", p: 0.2, basis: "assumed"},
		{name: "th and rv", state: "ot=th:c;rv:d0000000000000", after: "ot=th:c;rv:d0000000000000", p: 0.25, basis: "threshold"},
		{name: "th below the trace id", state: "ot=th:8", after: "ot=th:8", p: 0.5, basis: "threshold"},
		{name: "th:0", state: "ot=th:0", after: "ot=th:0", p: 1, basis: "threshold"},
		{name: "among others", state: "dd=s:1,ot=th:4;rv:80000000000000;x:y", after: "dd=s:1,ot=th:4;rv:80000000000000;x:y", p: 0.75, basis: "threshold"},
		{name: "th above the trace id", state: "ot=th:9", after: "", p: 0.2, basis: "assumed", faults: []string{"corrected threshold_inconsistent"}},
		{name: "th above rv", state: "dd=s:1,ot=th:9;rv:80000000000000", after: "ot=rv:80000000000000,dd=s:1", p: 0.2, basis: "assumed", faults: []string{"corrected threshold_inconsistent"}},
		{name: "unreadable", state: "ot=th:xyz", after: "ot=th:xyz", p: 0.2, basis: "assumed", faults: []string{"passed trace_state_invalid"}},
	}
	config := testConfig(func(c *Config) { c.AssumedRate = 0.2 })
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, config, nil)
			got := spansOf(r.receive(foreign("web", func(spans ptrace.SpanSlice) {
				addForeign(spans, 1, 0).TraceState().FromRaw(c.state)
			})))
			require.Len(t, got, 1)
			assert.Equal(t, map[string]any{
				"http.route": "/cart", methodspan.AttrKind: methodspan.KindCall, methodspan.AttrP: c.p,
				methodspan.AttrWeightBasis: c.basis, methodspan.AttrCaller: methodspan.CallerEntry,
			}, got[0].Attributes().AsRaw())
			assert.Equal(t, c.after, got[0].TraceState().AsRaw())
			assert.Equal(t, c.faults, r.faults())
			assert.Equal(t, map[string]int64{"foreign": 1}, r.counted("received"))
		})
	}
}

func TestForeign_AssumedRates(t *testing.T) {
	r := start(t, testConfig(func(c *Config) {
		c.AssumedRate = 0.2
		c.AssumedRates = map[string]float64{"web": 0.01}
	}), nil)
	td := foreign("web", func(spans ptrace.SpanSlice) { addForeign(spans, 1, 0) })
	foreign("other", func(spans ptrace.SpanSlice) { addForeign(spans, 1, 0) }).ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	var rates []float64
	for _, span := range spansOf(r.receive(td)) {
		p, _ := span.Attributes().Get(methodspan.AttrP)
		rates = append(rates, p.Double())
	}
	assert.Equal(t, []float64{0.01, 0.2}, rates)
}

func TestForeign_Modes(t *testing.T) {
	send := func(spans ptrace.SpanSlice) {
		addForeign(spans, 1, 0)                                                                     // io.shop.web.GET /cart
		addForeign(spans, 2, 0).Attributes().PutStr(methodspan.AttrFunction, "com.shop.Cart.total") // by code.function.name
		old := addForeign(spans, 3, 0).Attributes()                                                 // by the older pair
		old.PutStr(methodspan.AttrOldNamespace, "com.shop.Cart")
		old.PutStr(methodspan.AttrOldFunction, "add")
		addForeign(spans, 4, 0).SetName("") // by nothing
	}
	rule := func(rules ...ForeignRule) func(*Config) {
		return func(c *Config) { c.Foreign, c.ForeignRules = ForeignRules, rules }
	}
	for _, c := range []struct {
		name   string
		config func(*Config)
		want   []bool // by span: it is a method span
	}{
		{name: "all", want: []bool{true, true, true, false}},
		{name: "code", config: func(c *Config) { c.Foreign = ForeignCode }, want: []bool{false, true, true, false}},
		{name: "none", config: func(c *Config) { c.Foreign = ForeignNone }, want: []bool{false, false, false, false}},
		{name: "rule: prefix", config: rule(ForeignRule{Match: "com.shop.*"}), want: []bool{false, true, true, false}},
		{name: "rule: exact", config: rule(ForeignRule{Match: "com.shop.Cart.add"}), want: []bool{false, false, true, false}},
		{name: "rule: by span name", config: rule(ForeignRule{Match: "io.shop.web.GET*"}), want: []bool{true, false, false, false}},
		{name: "rule: of the service", config: rule(ForeignRule{Service: "we*", Match: "com.*"}), want: []bool{false, true, true, false}},
		{name: "rule: of another service", config: rule(ForeignRule{Service: "cart", Match: "com.*"}), want: []bool{false, false, false, false}},
		{name: "rules: any", config: rule(ForeignRule{Service: "cart", Match: "*"}, ForeignRule{Match: "com.shop.Cart.total"}), want: []bool{false, true, false, false}},
		{name: "rule: everything", config: rule(ForeignRule{Match: "*"}), want: []bool{true, true, true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, testConfig(c.config), nil)
			sent := foreign("web", send)
			untouched := ptrace.NewTraces()
			sent.CopyTo(untouched)
			got := spansOf(r.receive(sent))
			require.Len(t, got, len(c.want))
			for i, want := range c.want {
				k, isMethod := got[i].Attributes().Get(methodspan.AttrKind)
				assert.Equal(t, want, isMethod, "span %d", i)
				if isMethod {
					assert.Equal(t, methodspan.KindCall, k.Str())
				} else {
					assert.Equal(t, spansOf(untouched)[i], got[i], "a span that is no method span passes unchanged")
				}
			}
			assert.Empty(t, r.faults())
		})
	}
}

func TestForeign_Callers(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	td := foreign("web", func(spans ptrace.SpanSlice) {
		addForeign(spans, 5, 3).SetName("child before its parent")
		addForeign(spans, 1, 0).SetName("root")
		goFunction := addForeign(spans, 2, 1)
		goFunction.SetName("by name")
		goFunction.Attributes().PutStr(methodspan.AttrFunction, "shop/cart.(*Cart).Total")
		addForeign(spans, 3, 2).SetName("of a Go method")
		addForeign(spans, 4, 99).SetName("parent elsewhere")
		addForeign(spans, 6, 6).SetName("its own parent")
		addForeign(spans, 7, 98).SetName("parent in another process")
		spans.At(spans.Len() - 1).SetFlags(flagKnowsRemote | flagIsRemote)
		addForeign(spans, 8, 97).SetName("parent in this process")
		spans.At(spans.Len() - 1).SetFlags(flagKnowsRemote)
		addForeign(spans, 9, 1).SetName("another trace")
		spans.At(spans.Len() - 1).SetTraceID(pcommon.TraceID{77})
	})
	// The same span ids in another service belong to other spans.
	foreign("other", func(spans ptrace.SpanSlice) { addForeign(spans, 11, 1).SetName("parent in another service") }).
		ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	callers := map[string]any{}
	for _, span := range spansOf(r.receive(td)) {
		callers[span.Name()] = nil
		if v, ok := span.Attributes().Get(methodspan.AttrCaller); ok {
			callers[span.Name()] = v.Str()
		}
	}
	assert.Equal(t, map[string]any{
		"root":                      "(entry)",
		"by name":                   "io.shop.web.root",
		"of a Go method":            "shop/cart.Cart.Total",
		"child before its parent":   "io.shop.web.of a Go method",
		"parent elsewhere":          nil,
		"its own parent":            nil,
		"parent in another process": "(entry)",
		"parent in this process":    nil,
		"another trace":             nil,
		"parent in another service": nil,
	}, callers)
}

func TestForeign_Faults(t *testing.T) {
	for _, c := range []struct {
		name     string
		spoil    func(ptrace.Span)
		faults   []string
		isMethod bool
		also     func(*testing.T, ptrace.Span)
	}{
		{name: "times reversed", spoil: times(noon, noon-1), faults: []string{"passed time_reversed"}},
		{name: "no times", spoil: times(0, 0), faults: []string{"passed time_invalid"}},
		{name: "claims of calls, of a basis and of a price", isMethod: true,
			spoil: both(put(methodspan.AttrCalls, 1000), put(methodspan.AttrWeightBasis, "exact"), put(methodspan.AttrStratum, "tail"), put(methodspan.AttrCaller, "x.y"),
				put("corehour.usd_per_core_hour", 1e9), put(methodspan.AttrGroup, "g1")),
			faults: []string{"corrected attribute_misplaced"},
			also: func(t *testing.T, span ptrace.Span) {
				assert.Equal(t, map[string]any{
					"http.route": "/cart", methodspan.AttrKind: methodspan.KindCall, methodspan.AttrP: 1.0,
					methodspan.AttrWeightBasis: "assumed", methodspan.AttrCaller: methodspan.CallerEntry, methodspan.AttrGroup: "g1",
				}, span.Attributes().AsRaw())
			}},
		{name: "name too long", isMethod: true, spoil: func(s ptrace.Span) { s.SetName(strings.Repeat("x", 513)) }, faults: []string{"corrected text_too_long"},
			also: func(t *testing.T, span ptrace.Span) {
				name, _ := span.Attributes().Get(methodspan.AttrFunction)
				assert.Equal(t, methodspan.Overflow, name.Str())
				assert.Len(t, span.Name(), 513, "others may want the name")
			}},
		{name: "no UTF-8", isMethod: true, spoil: func(s ptrace.Span) { s.SetName("a\xff") }, faults: []string{"corrected not_utf8"},
			also: func(t *testing.T, span ptrace.Span) { assert.Equal(t, "a\uFFFD", span.Name()) }},
		{name: "no UTF-8 in the older pair", isMethod: true, spoil: both(put(methodspan.AttrOldNamespace, "a\xff"), put(methodspan.AttrOldFunction, "f")), faults: []string{"corrected not_utf8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, testConfig(nil), nil)
			got := spansOf(r.receive(foreign("web", func(spans ptrace.SpanSlice) { c.spoil(addForeign(spans, 1, 0)) })))
			require.Len(t, got, 1)
			assert.Equal(t, c.faults, r.faults())
			_, isMethod := got[0].Attributes().Get(methodspan.AttrKind)
			assert.Equal(t, c.isMethod, isMethod)
			if c.also != nil {
				c.also(t, got[0])
			}
		})
	}
}

// The number of span names with ids in them is unlimited; the table is bounded.
func TestForeign_NamesBounded(t *testing.T) {
	r := start(t, testConfig(func(c *Config) { c.Limits.MaxMethods = 3 }), nil)
	got := r.receive(foreign("web", func(spans ptrace.SpanSlice) {
		for i := range byte(20) {
			addForeign(spans, i+1, i).SetName("GET /cart/" + string('a'+rune(i)))
		}
	}))
	items, skipped := methodspan.NewConverter().Items(got)
	require.Zero(t, skipped)
	methods, callers := map[string]int{}, map[string]int{}
	for _, row := range items[0].Rows {
		methods[row.Method]++
		callers[row.Caller]++
	}
	assert.Equal(t, map[string]int{"GET /cart/a": 1, "GET /cart/b": 1, "GET /cart/c": 1, methodspan.Overflow: 17}, methods)
	assert.Equal(t, map[string]int{methodspan.CallerEntry: 1, "io.shop.web.GET /cart/a": 1, "io.shop.web.GET /cart/b": 1,
		"io.shop.web.GET /cart/c": 1, methodspan.Overflow: 16}, callers)
	assert.Equal(t, map[string]int64{"methods": 17}, r.counted("overflow"))
}

// Spans stamped by this or an upstream receiver are not stamped again; a threshold of a sampler in
// between is composed.
func TestForeign_StampedUpstream(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	once := r.receive(foreign("web", func(spans ptrace.SpanSlice) {
		addForeign(spans, 1, 0).TraceState().FromRaw("ot=th:8;rv:ffffffffffffff")
	}))
	again := r.receive(once)
	assert.Equal(t, spansOf(once)[0].Attributes().AsRaw(), spansOf(again)[0].Attributes().AsRaw())
	assert.Empty(t, r.faults())

	spansOf(again)[0].TraceState().FromRaw("ot=th:c;rv:ffffffffffffff")
	thinned := r.receive(again)
	p, _ := spansOf(thinned)[0].Attributes().Get(methodspan.AttrP)
	assert.Equal(t, 0.25, p.Double())
	assert.Equal(t, []string{"corrected threshold_thinned"}, r.faults())
}
