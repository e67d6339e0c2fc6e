package methodspans

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

func TestNormalizer_Aggregates(t *testing.T) {
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
		{name: "fewer waits than none", spoil: put(methodspan.AttrCPUWaits, -1),
			want: map[string]any{methodspan.AttrCPUWaits: nil}, faults: []string{"corrected waits_invalid"}},
		{name: "waits are text", spoil: put(methodspan.AttrCPUWaits, "1"),
			want: map[string]any{methodspan.AttrCPUWaits: nil}, faults: []string{"corrected waits_invalid"}},
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
