package methodspans

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// faultCase is one thing that is wrong with a span that is otherwise as our SDK
// sends it.
type faultCase struct {
	name   string
	spoil  func(ptrace.Span)
	faults []string       // "outcome reason"
	want   map[string]any // attributes that differ from the spoilt span's; nil = absent
	gone   bool           // the span is dropped
	also   func(*testing.T, ptrace.Span)
}

func put(key string, value any) func(ptrace.Span) {
	return func(span ptrace.Span) {
		if value == nil {
			span.Attributes().Remove(key)
			return
		}
		v := pcommon.NewValueEmpty()
		if err := v.FromRaw(value); err != nil {
			panic(err)
		}
		v.CopyTo(span.Attributes().PutEmpty(key))
	}
}

func both(fs ...func(ptrace.Span)) func(ptrace.Span) {
	return func(span ptrace.Span) {
		for _, f := range fs {
			f(span)
		}
	}
}

func state(s string) func(ptrace.Span) {
	return func(span ptrace.Span) { span.TraceState().FromRaw(s) }
}

func times(start, end int64) func(ptrace.Span) {
	return func(span ptrace.Span) {
		span.SetStartTimestamp(pcommon.Timestamp(start))
		span.SetEndTimestamp(pcommon.Timestamp(end))
	}
}

// runFaultCases sends each spoilt span between two good ones through a real
// receiver: the good ones must come out as they went in.
func runFaultCases(t *testing.T, add func(ptrace.SpanSlice) ptrace.Span, cases []faultCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, testConfig(nil), nil)
			var expected ptrace.Span
			sent := batch("a", 1, func(spans ptrace.SpanSlice) {
				addCall(spans)
				span := add(spans)
				if c.spoil != nil {
					c.spoil(span)
				}
				expected = ptrace.NewSpan()
				span.CopyTo(expected)
				addCall(spans)
			})
			good := []ptrace.Span{spansOf(sent)[0], spansOf(sent)[2]}

			got := spansOf(r.receive(sent))
			assert.Equal(t, c.faults, r.faults())
			if c.gone {
				require.Len(t, got, 2)
				assert.Equal(t, good[0].Attributes().AsRaw(), got[0].Attributes().AsRaw())
				assert.Equal(t, good[1].Attributes().AsRaw(), got[1].Attributes().AsRaw())
				return
			}
			require.Len(t, got, 3)
			want := expected.Attributes().AsRaw()
			for key, value := range c.want {
				if value == nil {
					delete(want, key)
				} else {
					want[key] = value
				}
			}
			assert.Equal(t, want, got[1].Attributes().AsRaw())
			assert.Equal(t, good[0].Attributes().AsRaw(), got[0].Attributes().AsRaw())
			assert.Equal(t, good[1].Attributes().AsRaw(), got[2].Attributes().AsRaw())
			if c.also != nil {
				c.also(t, got[1])
			}
			items, skipped := methodspan.NewConverter().Items(r.sink.AllTraces()[0])
			require.Len(t, items, 1)
			assert.Zero(t, skipped, "the warehouse must be able to read what the receiver lets through")
		})
	}
}

func TestCalls(t *testing.T) {
	long := strings.Repeat("x", 513)
	noCPU := map[string]any{methodspan.AttrCPUTime: nil, methodspan.AttrCPUState: methodspan.CPUUntrusted}
	runFaultCases(t, addCall, []faultCase{
		{name: "good"},
		{name: "no cpu", spoil: both(put(methodspan.AttrCPUTime, nil), put(methodspan.AttrCPUState, methodspan.CPUNotSampled))},
		{name: "cpu never timed", spoil: both(put(methodspan.AttrCPUTime, nil), put(methodspan.AttrCPUP, 0.0), put(methodspan.AttrCPUState, methodspan.CPUUnavailable))},
		{name: "cpu within the tolerance", spoil: put(methodspan.AttrCPUTime, 21_200_000)},
		{name: "tail", spoil: both(put(methodspan.AttrStratum, methodspan.StratumTail), put(methodspan.AttrP, 1.0), state("ot=th:0;rv:00000000000000"))},
		{name: "a rounded threshold", spoil: both(put(methodspan.AttrP, 0.1), state("ot=th:e667;rv:ffffffffffffff"))},

		{name: "times reversed", spoil: times(noon, noon-1), gone: true, faults: []string{"dropped time_reversed"}},
		{name: "no start", spoil: times(0, noon), gone: true, faults: []string{"dropped time_invalid"}},
		{name: "beyond 2262", spoil: times(noon, math.MinInt64), gone: true, faults: []string{"dropped time_invalid"}},

		{name: "cpu negative", spoil: put(methodspan.AttrCPUTime, -1), want: noCPU, faults: []string{"corrected cpu_time_invalid"}},
		{name: "cpu is text", spoil: put(methodspan.AttrCPUTime, "5"), want: noCPU, faults: []string{"corrected cpu_time_invalid"}},
		{name: "cpu is no whole number", spoil: put(methodspan.AttrCPUTime, 1.5), want: noCPU, faults: []string{"corrected cpu_time_invalid"}},
		{name: "cpu above wall", spoil: put(methodspan.AttrCPUTime, 21_200_001), want: noCPU, faults: []string{"corrected cpu_exceeds_wall"}},
		{name: "cpu beside another state", spoil: put(methodspan.AttrCPUState, methodspan.CPUNotSampled),
			want: map[string]any{methodspan.AttrCPUTime: nil}, faults: []string{"corrected cpu_state_mismatch"}},
		{name: "cpu beside an unknown state", spoil: put(methodspan.AttrCPUState, "guessed"), want: noCPU, faults: []string{"corrected cpu_state_mismatch"}},
		{name: "cpu said exact and absent", spoil: put(methodspan.AttrCPUTime, nil),
			want: map[string]any{methodspan.AttrCPUState: methodspan.CPUUnavailable}, faults: []string{"corrected cpu_state_mismatch"}},
		{name: "unknown state", spoil: both(put(methodspan.AttrCPUTime, nil), put(methodspan.AttrCPUState, "guessed")),
			want: map[string]any{methodspan.AttrCPUState: methodspan.CPUUntrusted}, faults: []string{"corrected cpu_state_mismatch"}},
		{name: "no cpu probability", spoil: put(methodspan.AttrCPUP, nil), want: noCPU, faults: []string{"corrected cpu_p_invalid"}},
		{name: "cpu probability above 1", spoil: put(methodspan.AttrCPUP, 1.5),
			want:   map[string]any{methodspan.AttrCPUTime: nil, methodspan.AttrCPUP: nil, methodspan.AttrCPUState: methodspan.CPUUntrusted},
			faults: []string{"corrected cpu_p_invalid"}},
		{name: "cpu probability NaN, not timed", spoil: both(put(methodspan.AttrCPUP, math.NaN()), put(methodspan.AttrCPUTime, nil), put(methodspan.AttrCPUState, methodspan.CPUNotSampled)),
			want: map[string]any{methodspan.AttrCPUP: nil}, faults: []string{"corrected cpu_p_invalid"}},

		{name: "p zero", spoil: both(put(methodspan.AttrP, 0.0), state("")), gone: true, faults: []string{"dropped p_invalid"}},
		{name: "p absent", spoil: both(put(methodspan.AttrP, nil), state("")), gone: true, faults: []string{"dropped p_invalid"}},
		{name: "p above 1", spoil: both(put(methodspan.AttrP, 1.01), state("")), gone: true, faults: []string{"dropped p_invalid"}},
		{name: "p NaN", spoil: both(put(methodspan.AttrP, math.NaN()), state("")), gone: true, faults: []string{"dropped p_invalid"}},
		{name: "p infinite", spoil: both(put(methodspan.AttrP, math.Inf(1)), state("")), gone: true, faults: []string{"dropped p_invalid"}},
		{name: "p negative", spoil: both(put(methodspan.AttrP, -0.25), state("")), gone: true, faults: []string{"dropped p_invalid"}},
		{name: "p absent, known from th", spoil: put(methodspan.AttrP, nil),
			want: map[string]any{methodspan.AttrP: 0.25}, faults: []string{"corrected p_invalid"}},

		{name: "thinned by another sampler", spoil: state("ot=th:e;rv:efffffffffffff"),
			want: map[string]any{methodspan.AttrP: 0.125}, faults: []string{"corrected threshold_thinned"}},
		{name: "thinned tail", spoil: both(put(methodspan.AttrStratum, methodspan.StratumTail), put(methodspan.AttrP, 1.0), state("ot=th:8;rv:efffffffffffff")),
			want: map[string]any{methodspan.AttrP: 0.5}, faults: []string{"corrected threshold_thinned"}},
		{name: "th above rv", spoil: state("ot=th:e;rv:dfffffffffffff"), faults: []string{"corrected threshold_inconsistent"},
			also: func(t *testing.T, span ptrace.Span) {
				assert.Equal(t, "ot=rv:dfffffffffffff", span.TraceState().AsRaw())
			}},
		{name: "unreadable trace state", spoil: state("ot=th:zz"), faults: []string{"passed trace_state_invalid"}},
		{name: "another vendor's trace state", spoil: state("dd=s:1")},

		{name: "no name at all", spoil: both(put(methodspan.AttrFunction, nil), func(s ptrace.Span) { s.SetName("") }), gone: true, faults: []string{"dropped name_absent"}},
		{name: "name on the span only", spoil: put(methodspan.AttrFunction, nil),
			want: map[string]any{methodspan.AttrFunction: "shop/cart.(*Cart).Total"}, faults: []string{"corrected name_absent"}},
		{name: "name too long", spoil: put(methodspan.AttrFunction, long),
			want: map[string]any{methodspan.AttrFunction: methodspan.Overflow}, faults: []string{"corrected text_too_long"},
			also: func(t *testing.T, span ptrace.Span) { assert.Equal(t, methodspan.Overflow, span.Name()) }},
		{name: "caller too long", spoil: put(methodspan.AttrCaller, long),
			want: map[string]any{methodspan.AttrCaller: methodspan.Overflow}, faults: []string{"corrected text_too_long"}},
		{name: "signature too long", spoil: put(methodspan.AttrSignature, long),
			want: map[string]any{methodspan.AttrSignature: nil}, faults: []string{"corrected text_too_long"}},
		{name: "caller of the wrong type", spoil: put(methodspan.AttrCaller, 7),
			want: map[string]any{methodspan.AttrCaller: nil}, faults: []string{"corrected value_invalid"}},
		{name: "no UTF-8", spoil: put(methodspan.AttrFunction, "a\xffb"),
			want: map[string]any{methodspan.AttrFunction: "a\uFFFDb"}, faults: []string{"corrected not_utf8"}},

		{name: "unknown stratum", spoil: put(methodspan.AttrStratum, "head"),
			want: map[string]any{methodspan.AttrStratum: nil}, faults: []string{"corrected stratum_invalid"}},
		{name: "unknown weight basis", spoil: put(methodspan.AttrWeightBasis, "felt"),
			want: map[string]any{methodspan.AttrWeightBasis: nil}, faults: []string{"corrected basis_invalid"}},
		{name: "calls on a call", spoil: put(methodspan.AttrCalls, 1000),
			want: map[string]any{methodspan.AttrCalls: nil}, faults: []string{"corrected attribute_misplaced"}},
		{name: "a stamp that is NaN", spoil: put(methodspan.AttrEffectiveRate, math.NaN()),
			want: map[string]any{methodspan.AttrEffectiveRate: nil}, faults: []string{"corrected value_invalid"}},
		{name: "two faults", spoil: both(put(methodspan.AttrCPUTime, -1), put(methodspan.AttrStratum, "head")),
			want:   map[string]any{methodspan.AttrCPUTime: nil, methodspan.AttrCPUState: methodspan.CPUUntrusted, methodspan.AttrStratum: nil},
			faults: []string{"corrected cpu_time_invalid", "corrected stratum_invalid"}},
	})
}

func TestAggregates(t *testing.T) {
	noCPU := map[string]any{
		methodspan.AttrCPUSum: nil, methodspan.AttrCPUSquares: nil, methodspan.AttrCPUMax: nil, methodspan.AttrCPUBins: nil,
		methodspan.AttrCPUCounts: nil, methodspan.AttrCPUMeasured: nil, methodspan.AttrCPUP: nil, methodspan.AttrCPUState: methodspan.CPUUntrusted,
	}
	noHistogram := map[string]any{methodspan.AttrWallBins: nil, methodspan.AttrWallCounts: nil}
	runFaultCases(t, addAggregate, []faultCase{
		{name: "good"},
		{name: "cpu not timed", spoil: func(span ptrace.Span) {
			for _, key := range []string{methodspan.AttrCPUSum, methodspan.AttrCPUSquares, methodspan.AttrCPUMax, methodspan.AttrCPUBins, methodspan.AttrCPUCounts} {
				span.Attributes().Remove(key)
			}
			span.Attributes().PutInt(methodspan.AttrCPUMeasured, 0)
			span.Attributes().PutStr(methodspan.AttrCPUState, methodspan.CPUNotSampled)
		}, want: map[string]any{methodspan.AttrCPUMeasured: nil}},
		{name: "measured absent", spoil: put(methodspan.AttrMeasured, nil), gone: true, faults: []string{"dropped measured_absent"}},
		{name: "measured zero", spoil: put(methodspan.AttrMeasured, 0), gone: true, faults: []string{"dropped measured_absent"}},
		{name: "measured negative", spoil: put(methodspan.AttrMeasured, -3), gone: true, faults: []string{"dropped measured_absent"}},
		{name: "no wall sum", spoil: put(methodspan.AttrWallSum, nil), gone: true, faults: []string{"dropped sum_invalid"}},
		{name: "wall sum negative", spoil: put(methodspan.AttrWallSum, -5), gone: true, faults: []string{"dropped sum_invalid"}},
		{name: "p above 1", spoil: put(methodspan.AttrP, 2.0), gone: true, faults: []string{"dropped p_invalid"}},
		{name: "no times", spoil: times(0, 0), gone: true, faults: []string{"dropped time_invalid"}},
		{name: "times reversed", spoil: times(noon+second, noon), faults: []string{"corrected time_reversed"},
			also: func(t *testing.T, span ptrace.Span) {
				assert.EqualValues(t, noon, span.StartTimestamp())
				assert.EqualValues(t, noon+second, span.EndTimestamp())
			}},
		{name: "maximum above the sum", spoil: put(methodspan.AttrWallMax, 60_001),
			want: map[string]any{methodspan.AttrWallMax: nil}, faults: []string{"corrected maximum_invalid"}},
		{name: "maximum below the mean", spoil: put(methodspan.AttrWallMax, 19_000),
			want: map[string]any{methodspan.AttrWallMax: nil}, faults: []string{"corrected maximum_invalid"}},
		{name: "squares too small", spoil: put(methodspan.AttrWallSquares, 1e9),
			want: map[string]any{methodspan.AttrWallSquares: nil}, faults: []string{"corrected squares_invalid"}},
		{name: "squares too large", spoil: put(methodspan.AttrWallSquares, 1.9e9),
			want: map[string]any{methodspan.AttrWallSquares: nil}, faults: []string{"corrected squares_invalid"}},
		{name: "squares NaN", spoil: put(methodspan.AttrWallSquares, math.NaN()),
			want: map[string]any{methodspan.AttrWallSquares: nil}, faults: []string{"corrected squares_invalid"}},
		{name: "bin negative", spoil: put(methodspan.AttrWallBins, []any{-1, 2, 3}), want: noHistogram, faults: []string{"corrected histogram_invalid"}},
		{name: "bin beyond the last", spoil: put(methodspan.AttrWallBins, []any{1, 2, int64(methodspan.MaxBin) + 1}), want: noHistogram, faults: []string{"corrected histogram_invalid"}},
		{name: "histogram does not add up", spoil: put(methodspan.AttrWallCounts, []any{1.0, 1.0, 2.0}), want: noHistogram, faults: []string{"corrected histogram_invalid"}},
		{name: "histogram of two lengths", spoil: put(methodspan.AttrWallCounts, []any{1.0, 2.0}), want: noHistogram, faults: []string{"corrected histogram_invalid"}},
		{name: "histogram count negative", spoil: put(methodspan.AttrWallCounts, []any{-1.0, 2.0, 2.0}), want: noHistogram, faults: []string{"corrected histogram_invalid"}},
		{name: "histogram count infinite", spoil: put(methodspan.AttrWallCounts, []any{math.Inf(1), 2.0, 2.0}), want: noHistogram, faults: []string{"corrected histogram_invalid"}},
		{name: "bins without counts", spoil: put(methodspan.AttrWallCounts, nil), want: noHistogram, faults: []string{"corrected histogram_invalid"}},
		{name: "bins are text", spoil: put(methodspan.AttrWallBins, "1,2,3"), want: noHistogram, faults: []string{"corrected histogram_invalid"}},
		{name: "more errors than calls", spoil: put(methodspan.AttrErrors, 4),
			want: map[string]any{methodspan.AttrErrors: nil}, faults: []string{"corrected errors_invalid"}},
		{name: "fewer errors than none", spoil: put(methodspan.AttrErrors, -1),
			want: map[string]any{methodspan.AttrErrors: nil}, faults: []string{"corrected errors_invalid"}},
		{name: "cpu timed more often than wall", spoil: put(methodspan.AttrCPUMeasured, 4), want: noCPU, faults: []string{"corrected cpu_time_invalid"}},
		{name: "cpu sum without number", spoil: put(methodspan.AttrCPUMeasured, nil), want: noCPU, faults: []string{"corrected cpu_time_invalid"}},
		{name: "cpu number without sum", spoil: put(methodspan.AttrCPUSum, nil), want: noCPU, faults: []string{"corrected cpu_time_invalid"}},
		{name: "cpu sum negative", spoil: put(methodspan.AttrCPUSum, -1), want: noCPU, faults: []string{"corrected cpu_time_invalid"}},
		{name: "cpu above wall", spoil: put(methodspan.AttrCPUSum, 2_060_601), want: noCPU, faults: []string{"corrected cpu_exceeds_wall"}},
		{name: "cpu not exact", spoil: put(methodspan.AttrCPUState, methodspan.CPUUnavailable), want: noCPU, faults: []string{"corrected cpu_state_mismatch"}},
		{name: "no cpu probability", spoil: put(methodspan.AttrCPUP, nil), want: noCPU, faults: []string{"corrected cpu_p_invalid"}},
		{name: "cpu probability NaN", spoil: put(methodspan.AttrCPUP, math.NaN()), want: noCPU, faults: []string{"corrected cpu_p_invalid"}},
		{name: "cpu histogram does not add up", spoil: put(methodspan.AttrCPUCounts, []any{1.0, 2.0}),
			want: map[string]any{methodspan.AttrCPUBins: nil, methodspan.AttrCPUCounts: nil}, faults: []string{"corrected histogram_invalid"}},
		{name: "thinned by another sampler", spoil: state("ot=th:8"),
			want: map[string]any{methodspan.AttrP: 0.25}, faults: []string{"corrected threshold_thinned"},
			also: func(t *testing.T, span ptrace.Span) { assert.Equal(t, "ot=th:0", span.TraceState().AsRaw()) }},
		{name: "no name", spoil: both(put(methodspan.AttrFunction, nil), func(s ptrace.Span) { s.SetName("") }), gone: true, faults: []string{"dropped name_absent"}},
	})
}

func TestProcess(t *testing.T) {
	runFaultCases(t, addProcess, []faultCase{
		{name: "good"},
		{name: "cpu negative", spoil: put(methodspan.AttrCPUTime, -1),
			want: map[string]any{methodspan.AttrCPUTime: nil, methodspan.AttrCPUState: methodspan.CPUUntrusted}, faults: []string{"corrected cpu_time_invalid"}},
		{name: "cpu beside another state", spoil: put(methodspan.AttrCPUState, methodspan.CPUUnavailable),
			want: map[string]any{methodspan.AttrCPUTime: nil}, faults: []string{"corrected cpu_state_mismatch"}},
		{name: "no cores", spoil: put(methodspan.AttrProcessCores, 0),
			want: map[string]any{methodspan.AttrProcessCores: nil}, faults: []string{"corrected process_value_invalid"}},
		{name: "values that cannot be", spoil: both(put(methodspan.AttrProcessRSS, -1), put(methodspan.AttrProcessFinal, "yes"),
			put(methodspan.AttrSDKPrefix+"dropped", math.NaN()), put(methodspan.AttrSDKPrefix+"queue", "full")),
			want: map[string]any{methodspan.AttrProcessRSS: nil, methodspan.AttrProcessFinal: nil,
				methodspan.AttrSDKPrefix + "dropped": nil, methodspan.AttrSDKPrefix + "queue": nil},
			faults: []string{"corrected process_value_invalid x4"}},
		{name: "times reversed", spoil: times(noon+second, noon), faults: []string{"corrected time_reversed"}},
		{name: "one time", spoil: times(0, noon), faults: []string{"corrected time_invalid"},
			also: func(t *testing.T, span ptrace.Span) { assert.EqualValues(t, noon, span.StartTimestamp()) }},
		{name: "no time: that of arrival", spoil: times(0, 0), faults: []string{"corrected time_invalid"},
			also: func(t *testing.T, span ptrace.Span) { assert.True(t, validTime(span.StartTimestamp())) }},
		{name: "let through by another sampler", spoil: state("ot=th:8"), faults: []string{"passed threshold_thinned"}},
		{name: "p of the wrong type", spoil: put(methodspan.AttrP, "1"),
			want: map[string]any{methodspan.AttrP: nil}, faults: []string{"corrected value_invalid"}},
	})
}

func TestUnknownKindPasses(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	for _, value := range []any{"stack", 7} {
		sent := batch("a", 0, func(spans ptrace.SpanSlice) {
			put(methodspan.AttrKind, value)(addCall(spans))
			put(methodspan.AttrP, math.NaN())(spans.At(0))
		})
		want := ptrace.NewTraces()
		sent.CopyTo(want)
		got := r.receive(sent)
		gotBytes, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(got)
		require.NoError(t, err)
		wantBytes, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(want)
		require.NoError(t, err)
		assert.Equal(t, wantBytes, gotBytes)
	}
	assert.Equal(t, []string{"passed kind_unknown x2"}, r.faults())
	assert.Equal(t, map[string]int64{"other": 2}, r.counted("received"))
}

// pcommon.Map makes no two attributes of one name; a wire may carry them. The
// first counts, for us and for whoever reads the span behind us.
func TestDuplicateAttributes(t *testing.T) {
	td := batch("a", 1, func(spans ptrace.SpanSlice) {
		addCall(spans).Attributes().PutDouble("corehour.cpu.q", math.NaN())
	})
	wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	require.NoError(t, err)
	wire = []byte(strings.Replace(string(wire), "corehour.cpu.q", methodspan.AttrCPUP, 1))

	r := start(t, testConfig(nil), nil)
	status, answer := r.post("/v1/traces", "application/x-protobuf", wire)
	require.Equal(t, 200, status, answer)
	assert.Equal(t, []string{"corrected attribute_duplicate"}, r.faults())
	got := spansOf(r.sink.AllTraces()[0])
	require.Len(t, got, 1)
	var found []float64
	got[0].Attributes().Range(func(name string, v pcommon.Value) bool {
		if name == methodspan.AttrCPUP {
			found = append(found, v.Double())
		}
		return true
	})
	assert.Equal(t, []float64{0.5}, found)
}

// A text of a resource or a scope is in every row, so it must be writable too.
func TestSharedTextsAreRepaired(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	td := foreign("web", func(spans ptrace.SpanSlice) { addForeign(spans, 1, 0) })
	td.ResourceSpans().At(0).Resource().Attributes().PutStr(methodspan.ResourceVersion, "1\xff")
	td.ResourceSpans().At(0).ScopeSpans().At(0).Scope().SetName("io\xff")
	got := r.receive(td).ResourceSpans().At(0)
	version, _ := got.Resource().Attributes().Get(methodspan.ResourceVersion)
	assert.Equal(t, "1\uFFFD", version.Str())
	assert.Equal(t, "io\uFFFD", got.ScopeSpans().At(0).Scope().Name())
	assert.Equal(t, []string{"corrected not_utf8 x2"}, r.faults())
}
