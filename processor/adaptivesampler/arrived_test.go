package adaptivesampler

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// countsOf returns the counts spans of a request by name, and the number of measurements, whose calls must be 0.
func countsOf(t *testing.T, td ptrace.Traces) (counts map[string][]ptrace.Span, kept int) {
	t.Helper()
	counts = map[string][]ptrace.Span{}
	for _, span := range spansOf(td) {
		if text(span, methodspan.AttrKind) == methodspan.KindCounts {
			counts[span.Name()] = append(counts[span.Name()], span)
			continue
		}
		kept++
		assert.Zero(t, number(t, span, methodspan.AttrCalls))
	}
	return counts, kept
}

// Spans of other SDKs are counted before they are thinned or dropped: exactly if they arrive unsampled, by minute
// and method, in the batch that they arrived in.
func TestArrivedCounts_Exact(t *testing.T) {
	r := start(t, &Config{DefaultRate: 0.1}, 7)
	b := newBatch("shop/web")
	const minute = 60_000_000_000
	for i := range 1000 {
		span := b.foreign("GET /", 1, methodspan.BasisAssumed, "", pcommon.TraceID{15: byte(i)})
		if i >= 700 {
			span.SetStartTimestamp(minute + pcommon.Timestamp(i))
			span.SetEndTimestamp(2 * minute)
		}
	}
	named := b.foreign("x", 1, methodspan.BasisThreshold, "ot=th:0", pcommon.TraceID{1})
	named.Attributes().PutStr(methodspan.AttrFunction, "shop/web.Serve")
	for range 2 {
		counts, kept := countsOf(t, r.send(copyOf(b.Traces)))
		assert.InDelta(t, 100, kept, 60)
		require.Len(t, counts["GET /"], 2)
		for i, want := range []float64{700, 300} {
			span := counts["GET /"][i]
			assert.Equal(t, want, number(t, span, methodspan.AttrCalls))
			assert.Equal(t, pcommon.Timestamp(i), span.StartTimestamp()/minute)
			assert.Empty(t, text(span, methodspan.AttrP), "an exact count has no probability")
			assert.Equal(t, methodspan.BasisAssumed, text(span, methodspan.AttrWeightBasis))
		}
		assert.EqualValues(t, 2*minute, counts["GET /"][1].EndTimestamp())
		require.Len(t, counts["x"], 1)
		assert.Equal(t, "shop/web.Serve", text(counts["x"][0], methodspan.AttrFunction))
	}
}

// A method that is off keeps its counts. A span that no decision thins keeps its call, or has an estimate of its
// calls if it arrives sampled.
func TestArrivedCounts_OffAndUnthinned(t *testing.T) {
	r := start(t, &Config{MethodsFile: methodsFile(t, `{"version": 1, "defaults": {"rate": 1}, "methods": [{"class": "shop/web", "method": "off", "mode": "off"}]}`)}, 7)
	b := newBatch("shop/web")
	b.foreign("off", 1, methodspan.BasisAssumed, "", pcommon.TraceID{1})
	b.foreign("all", 1, methodspan.BasisConfigured, "", pcommon.TraceID{1})
	b.foreign("sampled", 0.25, methodspan.BasisConfigured, "", pcommon.TraceID{1})
	b.foreign("sampled", 0.25, methodspan.BasisConfigured, "", pcommon.TraceID{1})
	out := spansOf(r.send(b.Traces))
	require.Len(t, out, 5)
	assert.Equal(t, "all", out[0].Name())
	assert.Empty(t, text(out[0], methodspan.AttrCalls))
	for _, kept := range out[1:3] {
		assert.Zero(t, number(t, kept, methodspan.AttrCalls))
	}
	assert.Equal(t, "off", out[3].Name())
	assert.EqualValues(t, 1, number(t, out[3], methodspan.AttrCalls))
	sampled, p := number(t, out[4], methodspan.AttrCalls), number(t, out[4], methodspan.AttrP)
	assert.EqualValues(t, 8, sampled)
	assert.InDelta(t, 2*2*0.75/(0.25*0.25), sampled*(1-p)/p, 1e-9, "two calls of one trace are kept or dropped together")
}

// Spans that arrive sampled by trace give an estimate. Its variance, in p of the counts, is that of the traces: an
// interval of two standard errors contains the truth in about 95% of the cases.
func TestArrivedCounts_EstimateHasVariance(t *testing.T) {
	r := start(t, &Config{DefaultRate: 0.01}, 7)
	random := seeded(3)
	const p, traces, perTrace, rounds = 0.25, 400, 3, 400
	within, sum := 0, 0.0
	for range rounds {
		b := newBatch("shop/web")
		for i := range traces {
			if float64(random()>>11)/(1<<53) >= p {
				continue
			}
			for range perTrace {
				b.foreign("GET /", p, methodspan.BasisServed, "", pcommon.TraceID{0: byte(i), 1: byte(i >> 8), 2: 1})
			}
		}
		counts, _ := countsOf(t, r.send(b.Traces))
		span := counts["GET /"][0]
		calls, effective := number(t, span, methodspan.AttrCalls), number(t, span, methodspan.AttrP)
		sum += calls
		if se := math.Sqrt(calls * (1 - effective) / effective); math.Abs(calls-traces*perTrace) <= 1.96*se {
			within++
		}
	}
	assert.InDelta(t, 1, sum/(rounds*traces*perTrace), 0.02)
	assert.InDelta(t, 0.95, float64(within)/rounds, 0.03)
}

// A second collector does not count what the first one has counted.
func TestArrivedCounts_CountedOnce(t *testing.T) {
	first, second := start(t, &Config{DefaultRate: 0.5}, 7), start(t, &Config{DefaultRate: 0.1}, 8)
	b := newBatch("shop/web")
	for range 100 {
		b.foreign("GET /", 1, methodspan.BasisAssumed, "", pcommon.TraceID{})
	}
	counts, _ := countsOf(t, second.send(first.send(b.Traces)))
	require.Len(t, counts["GET /"], 1)
	assert.EqualValues(t, 100, number(t, counts["GET /"][0], methodspan.AttrCalls))
}

func copyOf(td ptrace.Traces) ptrace.Traces {
	out := ptrace.NewTraces()
	td.CopyTo(out)
	return out
}
