package methodspans

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

func TestNormalizer_ProcessSpans(t *testing.T) {
	runFaultCases(t, addProcess, []faultCase{
		{name: "good"},
		{name: "cpu negative", spoil: put(methodspan.AttrCPUTime, -1),
			want: map[string]any{methodspan.AttrCPUTime: nil, methodspan.AttrCPUState: methodspan.CPUUntrusted}, faults: []string{"corrected cpu_time_invalid"}},
		{name: "cpu with another state", spoil: put(methodspan.AttrCPUState, methodspan.CPUUnavailable),
			want: map[string]any{methodspan.AttrCPUTime: nil}, faults: []string{"corrected cpu_state_mismatch"}},
		{name: "no cores", spoil: put(methodspan.AttrProcessCores, 0),
			want: map[string]any{methodspan.AttrProcessCores: nil}, faults: []string{"corrected process_value_invalid"}},
		{name: "a host of no machine", spoil: both(put(methodspan.AttrHostCores, 1<<17), put(methodspan.AttrProcessLimit, -0.5)),
			want: map[string]any{methodspan.AttrHostCores: nil, methodspan.AttrProcessLimit: nil}, faults: []string{"corrected process_value_invalid x2"}},
		{name: "a host", spoil: both(put(methodspan.AttrHostCores, int64(16)), put(methodspan.AttrProcessLimit, 0.5)),
			want: map[string]any{methodspan.AttrHostCores: int64(16), methodspan.AttrProcessLimit: 0.5}},
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
