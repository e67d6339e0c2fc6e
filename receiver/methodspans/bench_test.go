package methodspans

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

const benchSpans = 1000

// benchCalls returns measurements of 50 methods with 8 attributes each.
func benchCalls() ptrace.Traces {
	return batch("a", 1, func(spans ptrace.SpanSlice) {
		for i := range benchSpans {
			addCall(spans).Attributes().PutStr("code.function.name", fmt.Sprintf("shop/cart.(*Cart).Method%d", i%50))
		}
	})
}

// benchForeign returns one trace of a stock SDK, each span with 8 attributes.
func benchForeign() ptrace.Traces {
	return foreign("web", func(spans ptrace.SpanSlice) {
		for i := range benchSpans {
			span := addForeign(spans, 0, 0)
			span.SetSpanID(pcommon.SpanID{1, byte(i >> 8), byte(i)})
			if i > 0 {
				span.SetParentSpanID(pcommon.SpanID{1, byte(i / 2 >> 8), byte(i / 2)})
			}
			span.SetName(fmt.Sprintf("operation %d", i%50))
			span.TraceState().FromRaw("ot=th:8;rv:d0000000000000")
			for j := range 7 {
				span.Attributes().PutStr(fmt.Sprintf("http.request.header.%d", j), "value")
			}
		}
	})
}

// perSpan reports the cost of the timed part per span.
func perSpan(b *testing.B, before, after *runtime.MemStats) {
	n := float64(b.N) * benchSpans
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/span")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "allocs/span")
}

func measure(b *testing.B, f func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		f()
	}
	runtime.ReadMemStats(&after)
	perSpan(b, &before, &after)
}

// BenchmarkMeasurements normalises valid spans of the corehour SDK. Compare it with
// BenchmarkDecode, the cost before normalisation.
func BenchmarkMeasurements(b *testing.B) {
	n, p := newNormalizer(testConfig(nil), nowForTest), newRequestPass()
	td := benchCalls()
	measure(b, func() {
		n.normalize(td, p)
		p.reset()
	})
}

func BenchmarkForeign(b *testing.B) {
	n, p := newNormalizer(testConfig(nil), nowForTest), newRequestPass()
	pristine := benchForeign()
	measure(b, func() { // most of the time is the copy: see BenchmarkCopy
		td := ptrace.NewTraces()
		pristine.CopyTo(td)
		n.normalize(td, p)
		p.reset()
	})
}

func BenchmarkCopy(b *testing.B) {
	pristine := benchForeign()
	measure(b, func() {
		pristine.CopyTo(ptrace.NewTraces())
	})
}

// BenchmarkDecode is the floor: decoding by the stock receiver.
func BenchmarkDecode(b *testing.B) {
	wire, err := ptraceotlp.NewExportRequestFromTraces(benchCalls()).MarshalProto()
	require.NoError(b, err)
	measure(b, func() {
		request := ptraceotlp.NewExportRequest()
		require.NoError(b, request.UnmarshalProto(wire))
	})
}

// BenchmarkIntake is a whole request: decoding, duplicates, normalising,
// metrics.
func BenchmarkIntake(b *testing.B) {
	wire, err := ptraceotlp.NewExportRequestFromTraces(benchCalls()).MarshalProto()
	require.NoError(b, err)
	in, err := newIntake(testConfig(nil), componenttest.NewTelemetry().NewTelemetrySettings(), consumertest.NewNop())
	require.NoError(b, err)
	defer in.shutdown()
	seq := int64(0)
	measure(b, func() {
		request := ptraceotlp.NewExportRequest()
		require.NoError(b, request.UnmarshalProto(wire))
		seq++
		request.Traces().ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutInt("corehour.batch.seq", seq)
		require.NoError(b, in.ConsumeTraces(context.Background(), request.Traces()))
	})
}

// BenchmarkCounts expands the counts of 1000 methods.
func BenchmarkCounts(b *testing.B) {
	n, p := newNormalizer(testConfig(nil), nowForTest), newRequestPass()
	var pairs []any
	for i := range benchSpans {
		pairs = append(pairs, fmt.Sprintf("shop/cart.(*Cart).Method%d", i), i)
	}
	measure(b, func() {
		td := batch("a", 1, func(spans ptrace.SpanSlice) { addCounts(spans, pairs...) })
		n.normalize(td, p)
		p.reset()
	})
}

// A valid measurement must not allocate.
func TestNormalizer_MeasurementsDoNotAllocate(t *testing.T) {
	n, p := newNormalizer(testConfig(nil), nowForTest), newRequestPass()
	td := benchCalls()
	normalize := func() {
		n.normalize(td, p)
		p.reset()
	}
	normalize()
	// Other goroutines can allocate in some of the runs.
	least := math.Inf(1)
	for try := 0; try < 5 && least >= 20; try++ {
		least = min(least, testing.AllocsPerRun(20, normalize))
	}
	require.Less(t, least, float64(20), "allocations per request of %d spans", benchSpans)
}
