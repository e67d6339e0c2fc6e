package methodspans

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

func TestNormalizer_Calls(t *testing.T) {
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
		{name: "cpu with another state", spoil: put(methodspan.AttrCPUState, methodspan.CPUNotSampled),
			want: map[string]any{methodspan.AttrCPUTime: nil}, faults: []string{"corrected cpu_state_mismatch"}},
		{name: "cpu with an unknown state", spoil: put(methodspan.AttrCPUState, "guessed"), want: noCPU, faults: []string{"corrected cpu_state_mismatch"}},
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
		{name: "tier, reason and source of a price too long", spoil: both(put(methodspan.AttrTier, long), put(methodspan.AttrReason, long), put(methodspan.AttrPriceSource, long)),
			want:   map[string]any{methodspan.AttrTier: nil, methodspan.AttrReason: nil, methodspan.AttrPriceSource: nil},
			faults: []string{"corrected price_untrusted", "corrected text_too_long x2"}},
		{name: "a stack too long", spoil: put(methodspan.AttrStack, strings.Repeat("a.B;", 4097)),
			want: map[string]any{methodspan.AttrStack: nil}, faults: []string{"corrected text_too_long"}},
		{name: "a long stack", spoil: put(methodspan.AttrStack, strings.Repeat("a.B;", 4096))},
		{name: "caller of the wrong type", spoil: put(methodspan.AttrCaller, 7),
			want: map[string]any{methodspan.AttrCaller: nil}, faults: []string{"corrected value_invalid"}},
		{name: "no UTF-8", spoil: put(methodspan.AttrFunction, "a\xffb"),
			want: map[string]any{methodspan.AttrFunction: "a\uFFFDb"}, faults: []string{"corrected not_utf8"}},

		{name: "activated", spoil: put(methodspan.AttrActivated, true)},
		{name: "activated is a number", spoil: put(methodspan.AttrActivated, 1),
			want: map[string]any{methodspan.AttrActivated: nil}, faults: []string{"corrected value_invalid"}},
		{name: "waits", spoil: put(methodspan.AttrCPUWaits, 3)},
		{name: "fewer waits than none", spoil: put(methodspan.AttrCPUWaits, -1),
			want: map[string]any{methodspan.AttrCPUWaits: nil}, faults: []string{"corrected waits_invalid"}},

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
