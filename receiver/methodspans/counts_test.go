package methodspans

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

func TestNormalizer_Counts(t *testing.T) {
	cases := []struct {
		name   string
		pairs  []any
		spoil  func(ptrace.Span)
		want   map[string]int64
		faults []string
		lost   int64
	}{
		{name: "good", pairs: []any{"a.b", 3, "c.d", 0, "e.f", 1 << 40}, want: map[string]int64{"a.b": 3, "c.d": 0, "e.f": 1 << 40}},
		{name: "none", want: map[string]int64{}},
		{name: "a method twice", pairs: []any{"a.b", 3, "a.b", 4}, want: map[string]int64{"a.b": 7}},
		{name: "negative", pairs: []any{"a.b", 3, "c.d", -1, "e.f", 2}, want: map[string]int64{"a.b": 3, "e.f": 2},
			faults: []string{"dropped counts_entry_invalid"}},
		{name: "no number", pairs: []any{"a.b", "3", "c.d", 1.5, "e.f", math.NaN(), "g.h", math.Inf(1), "i.j", 2}, want: map[string]int64{"i.j": 2},
			faults: []string{"dropped counts_entry_invalid x4"}},
		{name: "a whole double", pairs: []any{"a.b", 3.0}, want: map[string]int64{"a.b": 3}},
		{name: "beyond what a double holds", pairs: []any{"a.b", 1<<53 + 2, "c.d", 1<<53 - 1}, want: map[string]int64{"a.b": 0, "c.d": 1<<53 - 1},
			faults: []string{"dropped counts_entry_invalid"}, lost: 1<<53 + 2},
		{name: "what a double holds for two numbers", pairs: []any{"a.b", 1 << 53}, want: map[string]int64{"a.b": 0}, faults: []string{"dropped counts_entry_invalid"}, lost: 1 << 53},
		{name: "the most of an int", pairs: []any{"a.b", math.MaxInt64}, want: map[string]int64{"a.b": 0}, faults: []string{"dropped counts_entry_invalid"}, lost: 1 << 62},
		{name: "a double from there on", pairs: []any{"a.b", float64(1 << 53), "a.b", 1}, want: map[string]int64{"a.b": 1}, faults: []string{"dropped counts_entry_invalid"}},
		{name: "a sum beyond what a double holds", pairs: []any{"a.b", 1<<53 - 1, "a.b", 1}, want: map[string]int64{"a.b": 1<<53 - 1},
			faults: []string{"dropped counts_entry_invalid"}, lost: 1},
		{name: "no name", pairs: []any{"a.b", 3, "", 4, 7, 5}, want: map[string]int64{"a.b": 3, methodspan.Overflow: 9},
			faults: []string{"corrected name_absent x2"}},
		{name: "name too long", pairs: []any{strings.Repeat("x", 513), 4, "a.b", 3, strings.Repeat("y", 513), 1}, want: map[string]int64{"a.b": 3, methodspan.Overflow: 5},
			faults: []string{"corrected text_too_long x2"}},
		{name: "a name that is no UTF-8", pairs: []any{"a\xff", 4}, want: map[string]int64{"a\uFFFD": 4}, faults: []string{"corrected not_utf8"}},
		{name: "fewer methods than calls", pairs: []any{"a.b", 3, "c.d", 4}, spoil: put(methodspan.AttrCountsMethods, []any{"a.b"}),
			want: map[string]int64{methodspan.Overflow: 7}, faults: []string{"corrected counts_length"}},
		{name: "more methods than calls", pairs: []any{"a.b", 3, "c.d", 4}, spoil: put(methodspan.AttrCountsCalls, []any{3}),
			want: map[string]int64{methodspan.Overflow: 3}, faults: []string{"corrected counts_length"}},
		{name: "methods are text", pairs: []any{"a.b", 3}, spoil: put(methodspan.AttrCountsMethods, "a.b"),
			want: map[string]int64{methodspan.Overflow: 3}, faults: []string{"corrected counts_length"}},
		{name: "no calls", pairs: []any{"a.b", 3}, spoil: put(methodspan.AttrCountsCalls, nil), want: map[string]int64{}, faults: []string{"dropped counts_absent"}},
		{name: "calls are text", pairs: []any{"a.b", 3}, spoil: put(methodspan.AttrCountsCalls, "3"), want: map[string]int64{}, faults: []string{"dropped counts_absent"}},
		{name: "neither", spoil: both(put(methodspan.AttrCountsCalls, nil), put(methodspan.AttrCountsMethods, nil)), want: map[string]int64{}, faults: []string{"dropped counts_absent"}},
		{name: "times reversed", pairs: []any{"a.b", 3}, spoil: times(noon+1, noon), want: map[string]int64{"a.b": 3}, faults: []string{"corrected time_reversed"}},
		{name: "no times", pairs: []any{"a.b", 3}, spoil: times(0, 0), want: map[string]int64{"a.b": 3}, faults: []string{"corrected time_invalid"}},
		{name: "what does not belong", pairs: []any{"a.b", 3}, spoil: both(put(methodspan.AttrP, math.NaN()), put(methodspan.AttrCPUTime, 5)),
			want: map[string]int64{"a.b": 3}, faults: []string{"corrected attribute_misplaced", "corrected value_invalid"}},
		{name: "activated is text", pairs: []any{"a.b", 3}, spoil: put(methodspan.AttrActivated, "true"), want: map[string]int64{"a.b": 3}, faults: []string{"corrected value_invalid"}},
		{name: "let through by another sampler", pairs: []any{"a.b", 3}, spoil: state("ot=th:8"), want: map[string]int64{"a.b": 3}, faults: []string{"passed threshold_thinned"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, testConfig(nil), nil)
			got := r.receive(batch("a", 1, func(spans ptrace.SpanSlice) {
				addCall(spans)
				span := addCounts(spans, c.pairs...)
				if c.spoil != nil {
					c.spoil(span)
				}
				addCall(spans)
			}))
			assert.Equal(t, c.want, callsOf(got))
			assert.Equal(t, c.faults, r.faults())
			assert.Equal(t, c.lost, r.counted("lost_calls")[""])
			assert.Len(t, spansOf(got), 2+len(c.want), "one span per method, and the calls around")
			assert.EqualValues(t, map[string]int64{"call": 2, "counts": 1}, r.counted("received"))
		})
	}
}

func TestCounts_ExpandedSpans(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	spans := spansOf(r.receive(batch("a", 1, func(spans ptrace.SpanSlice) {
		addCounts(spans, "a.b", 3, "c.d", 4).Attributes().PutBool(methodspan.AttrActivated, true)
	})))
	require.Len(t, spans, 2)
	for i, span := range spans {
		name := []string{"a.b", "c.d"}[i]
		assert.Equal(t, name, span.Name())
		assert.Equal(t, ptrace.SpanKindInternal, span.Kind())
		assert.Equal(t, pcommon.TraceID{1, 2, 3, 15: 200}, span.TraceID())
		assert.Equal(t, pcommon.SpanID{8, 7: byte(1 + i)}, span.SpanID())
		assert.Equal(t, "ot=th:0", span.TraceState().AsRaw())
		assert.EqualValues(t, noon, span.StartTimestamp())
		assert.EqualValues(t, noon+60*second, span.EndTimestamp())
		assert.Equal(t, map[string]any{
			methodspan.AttrKind: methodspan.KindCounts, methodspan.AttrFunction: name,
			methodspan.AttrCalls: int64(3 + i), methodspan.AttrIDs: methodspan.IDsSynthetic,
			methodspan.AttrActivated: true,
		}, span.Attributes().AsRaw())
	}
}

// Counts that an upstream receiver has expanded pass unchanged.
func TestCounts_ExpandedUpstream(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(ptrace.Span)
		want   map[string]int64
		faults []string
		lost   int64
	}{
		{name: "good", want: map[string]int64{"a.b": 5}},
		{name: "no name", spoil: both(put(methodspan.AttrFunction, nil), func(s ptrace.Span) { s.SetName("") }),
			want: map[string]int64{methodspan.Overflow: 5}, faults: []string{"corrected name_absent"}},
		{name: "name on the span only", spoil: put(methodspan.AttrFunction, nil), want: map[string]int64{"a.b": 5}, faults: []string{"corrected name_absent"}},
		{name: "name too long", spoil: put(methodspan.AttrFunction, strings.Repeat("x", 513)), want: map[string]int64{methodspan.Overflow: 5}, faults: []string{"corrected text_too_long"}},
		{name: "negative", spoil: put(methodspan.AttrCalls, -1), want: map[string]int64{}, faults: []string{"dropped counts_entry_invalid"}},
		{name: "most", spoil: put(methodspan.AttrCalls, 1<<53-1), want: map[string]int64{"a.b": 1<<53 - 1}},
		{name: "too many", spoil: put(methodspan.AttrCalls, 1<<53+1), want: map[string]int64{}, faults: []string{"dropped counts_entry_invalid"}, lost: 1 << 53}, // the metric is a float64
		{name: "too many in a double", spoil: put(methodspan.AttrCalls, float64(1<<53)), want: map[string]int64{}, faults: []string{"dropped counts_entry_invalid"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, testConfig(nil), nil)
			got := r.receive(batch("a", 1, func(spans ptrace.SpanSlice) {
				addCall(spans)
				span := addCounts(spans)
				span.SetName("a.b")
				span.Attributes().Remove(methodspan.AttrCountsCalls)
				span.Attributes().Remove(methodspan.AttrCountsMethods)
				span.Attributes().PutStr(methodspan.AttrFunction, "a.b")
				span.Attributes().PutInt(methodspan.AttrCalls, 5)
				if c.spoil != nil {
					c.spoil(span)
				}
			}))
			assert.Equal(t, c.want, callsOf(got))
			assert.Equal(t, c.faults, r.faults())
			assert.Equal(t, c.lost, r.counted("lost_calls")[""])
		})
	}
}

// The number of expanded spans is bounded for any number of entries, and no call is lost.
func TestCounts_NamesBounded(t *testing.T) {
	r := start(t, testConfig(func(c *Config) { c.Limits.MaxMethods = 10 }), nil)
	var pairs []any
	for i := range 1000 {
		pairs = append(pairs, fmt.Sprintf("m.f%d", i), 2)
	}
	got := r.receive(batch("a", 1, func(spans ptrace.SpanSlice) { addCounts(spans, pairs...) }))
	calls := callsOf(got)
	assert.Len(t, spansOf(got), 11)
	assert.EqualValues(t, 2*990, calls[methodspan.Overflow])
	assert.EqualValues(t, 2, calls["m.f9"])
	assert.Equal(t, map[string]int64{"methods": 990}, r.counted("overflow"))
	assert.Equal(t, map[string]int64{"methods": 10, "services": 1, "instances": 1}, r.counted("table_size"))

	// Known methods keep their places; others get none.
	got = r.receive(batch("a", 2, func(spans ptrace.SpanSlice) { addCounts(spans, "m.f500", 1, "m.f3", 1) }))
	assert.Equal(t, map[string]int64{"m.f3": 1, methodspan.Overflow: 1}, callsOf(got))

	// The bound is one for counts and measurements, so both name a method alike.
	got = r.receive(batch("a", 3, func(spans ptrace.SpanSlice) { addCall(spans) }))
	name, _ := spansOf(got)[0].Attributes().Get(methodspan.AttrFunction)
	assert.Equal(t, methodspan.Overflow, name.Str())
}

func TestIntake_EmptyRequestNotForwarded(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	got := r.receive(batch("a", 1, func(spans ptrace.SpanSlice) { put(methodspan.AttrCountsCalls, nil)(addCounts(spans)) }))
	assert.Zero(t, got.ResourceSpans().Len())
	assert.Empty(t, r.sink.AllTraces())
}
