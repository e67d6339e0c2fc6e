package methodspans

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// born is the start of the processes that batch makes requests of.
var born = time.Date(2026, 9, 21, 14, 0, 0, 250_000_000, time.UTC).UnixNano()

const minute = 60 * second

// arrived reports whether a span has the time of arrival and lasts as long as it did.
func arrived(lasted int64) func(*testing.T, ptrace.Span) {
	return func(t *testing.T, span ptrace.Span) {
		assert.WithinDuration(t, time.Now(), span.EndTimestamp().AsTime(), time.Minute)
		assert.EqualValues(t, lasted, span.EndTimestamp()-span.StartTimestamp())
	}
}

func ended(start, end int64) func(*testing.T, ptrace.Span) {
	return func(t *testing.T, span ptrace.Span) {
		assert.EqualValues(t, start, span.StartTimestamp())
		assert.EqualValues(t, end, span.EndTimestamp())
	}
}

func TestPlausibility_Calls(t *testing.T) {
	ahead := time.Now().Add(23 * time.Hour).UnixNano()
	little := time.Now().Add(4 * time.Minute).UnixNano()
	runFaultCases(t, addCall, []faultCase{
		{name: "a clock a little ahead", spoil: times(little-second, little), also: ended(little-second, little)},
		{name: "a clock 23 hours ahead", spoil: times(ahead-second, ahead), faults: []string{"corrected time_in_future"}, also: arrived(second)},
		{name: "in 2262", spoil: times(math.MaxInt64-second, math.MaxInt64), faults: []string{"corrected time_in_future"}, also: arrived(second)},
		{name: "of 236 years", spoil: times(1, math.MaxInt64), gone: true, faults: []string{"corrected time_in_future", "dropped wall_exceeds_age"}},
		{name: "as old as its process", spoil: times(born, noon), also: ended(born, noon)},
		{name: "older", spoil: times(born-5*minute-1, noon), gone: true, faults: []string{"dropped wall_exceeds_age"}},
		{name: "of 1e300 calls", spoil: both(put(methodspan.AttrP, 1e-300), state("")), gone: true, faults: []string{"dropped p_invalid"}},
		{name: "a CPU probability of 1e-300", spoil: put(methodspan.AttrCPUP, 1e-300),
			want:   map[string]any{methodspan.AttrCPUP: nil, methodspan.AttrCPUTime: nil, methodspan.AttrCPUState: methodspan.CPUUntrusted},
			faults: []string{"corrected cpu_p_invalid"}},
		{name: "its own price", spoil: both(put(methodspan.AttrPrice, 1e6), put(methodspan.AttrPriceSource, "price book")),
			want: map[string]any{methodspan.AttrPrice: nil, methodspan.AttrPriceSource: nil}, faults: []string{"corrected price_untrusted"}},
	})
}

func TestPlausibility_Aggregates(t *testing.T) {
	plain := func(span ptrace.Span) {
		for _, name := range []string{methodspan.AttrWallSquares, methodspan.AttrWallMax, methodspan.AttrWallBins, methodspan.AttrWallCounts} {
			span.Attributes().Remove(name)
		}
	}
	ahead := time.Now().Add(time.Hour).UnixNano()
	runFaultCases(t, addAggregate, []faultCase{
		{name: "2^63 calls", spoil: both(plain, put(methodspan.AttrMeasured, int64(math.MaxInt64))), gone: true, faults: []string{"dropped measured_impossible"}},
		{name: "more calls than nanoseconds", spoil: both(plain, times(noon, noon), put(methodspan.AttrMeasured, int64(1e14))), gone: true, faults: []string{"dropped measured_impossible"}},
		{name: "as many as nanoseconds", spoil: both(plain, put(methodspan.AttrMeasured, int64(1e9)), put(methodspan.AttrWallSum, int64(1e9)))},
		{name: "2^63 ns", spoil: both(plain, put(methodspan.AttrWallSum, int64(math.MaxInt64))), gone: true, faults: []string{"dropped wall_exceeds_age"}},
		{name: "2^60 ns of many", spoil: both(plain, put(methodspan.AttrMeasured, int64(1e9)), put(methodspan.AttrWallSum, int64(methodspan.MostTime)))},
		{name: "longer than the process", spoil: both(plain, put(methodspan.AttrWallSum, 3*(noon-born+6*minute))), gone: true, faults: []string{"dropped wall_exceeds_age"}},
		{name: "a clock ahead", spoil: times(ahead-second, ahead), faults: []string{"corrected time_in_future"}, also: arrived(second)},
		{name: "an interval older than the process", spoil: times(second, noon), faults: []string{"corrected wall_exceeds_age"}, also: ended(born-5*minute, noon)},
	})
}

func TestPlausibility_Processes(t *testing.T) {
	ahead := time.Now().Add(time.Hour).UnixNano()
	untrusted := map[string]any{methodspan.AttrCPUTime: nil, methodspan.AttrCPUState: methodspan.CPUUntrusted}
	runFaultCases(t, addProcess, []faultCase{
		{name: "all cores all the time", spoil: both(put(methodspan.AttrHostCores, 4), put(methodspan.AttrCPUTime, 4*minute))},
		{name: "more than all cores", spoil: both(put(methodspan.AttrHostCores, 4), put(methodspan.AttrCPUTime, 4*minute+5*second)), want: untrusted, faults: []string{"corrected cpu_exceeds_wall"}},
		{name: "cores not known", spoil: put(methodspan.AttrCPUTime, int64(math.MaxInt64)), want: untrusted, faults: []string{"corrected cpu_exceeds_wall"}},
		{name: "more cores than any machine", spoil: put(methodspan.AttrProcessCores, 1e300), want: map[string]any{methodspan.AttrProcessCores: nil}, faults: []string{"corrected process_value_invalid"}},
		{name: "a counter", spoil: put(methodspan.AttrSDKPrefix+"dropped", 1e300), want: map[string]any{methodspan.AttrSDKPrefix + "dropped": nil}, faults: []string{"corrected process_value_invalid"}},
		{name: "a clock ahead", spoil: times(ahead-minute, ahead), faults: []string{"corrected time_in_future"}, also: arrived(minute)},
		{name: "older than itself", spoil: both(times(second, noon), put(methodspan.AttrCPUTime, nil)), faults: []string{"corrected wall_exceeds_age"}, also: ended(born-5*minute, noon)},
	})
}

func TestPlausibility_ForeignSpans(t *testing.T) {
	ahead := time.Now().Add(time.Hour).UnixNano()
	week := int64(longestUnknown)
	for _, c := range []struct {
		name       string
		start, end int64
		want       []string
	}{
		{"a week", noon - week, noon, nil},
		{"more than a week", noon - week - 1, noon, []string{"passed wall_exceeds_age"}},
		{"a clock ahead", ahead - second, ahead, []string{"passed time_in_future"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, testConfig(nil), nil)
			got := spansOf(r.receive(foreign("web", func(spans ptrace.SpanSlice) { times(c.start, c.end)(addForeign(spans, 1, 0)) })))
			require.Len(t, got, 1)
			assert.Equal(t, c.want, r.faults())
			assert.Equal(t, c.want == nil, isMethodSpan(got[0]))
			ended(c.start, c.end)(t, got[0])
		})
	}
}

// A process start in the future counts as absent.
func TestPlausibility_StartInFuture(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	td := batch("a", 1, func(spans ptrace.SpanSlice) { addCall(spans) })
	td.ResourceSpans().At(0).Resource().Attributes().PutStr(methodspan.ResourceProcessStart, "2261-01-01T00:00:00Z")
	assert.Len(t, spansOf(r.receive(td)), 1)
	assert.Empty(t, r.faults())
}

func TestPlausibility_TotalsAndPrices(t *testing.T) {
	request := func() ptrace.Traces {
		td := batch("a", 1, func(spans ptrace.SpanSlice) { addCall(spans); addProcess(spans) })
		td.ResourceSpans().At(0).Resource().Attributes().PutDouble(methodspan.AttrPrice, 7)
		td.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutInt(methodspan.AttrCallsTotal, math.MaxInt64-1)
		return td
	}
	price := func(td ptrace.Traces) any {
		return td.ResourceSpans().At(0).Resource().Attributes().AsRaw()[methodspan.AttrPrice]
	}
	r := start(t, testConfig(nil), nil)
	got := r.receive(request())
	assert.Equal(t, []string{"corrected price_untrusted", "corrected total_invalid"}, r.faults())
	assert.Nil(t, price(got))
	items, _ := methodspan.NewConverter().Items(got)
	require.Len(t, items, 1)
	assert.Zero(t, items[0].Rows[1].Process.CallsTotal)

	r = start(t, testConfig(func(c *Config) { c.TrustPrices = true }), nil)
	assert.Equal(t, 7.0, price(r.receive(request())))
	assert.Equal(t, []string{"corrected total_invalid"}, r.faults())
}
