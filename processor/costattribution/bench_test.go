package costattribution

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/corehour/corehour/internal/methodspan"
)

// BenchmarkBatch gives ns and allocations per span, of batches of 500 spans
// with the attributes that a measurement has here. Decoding them in between is
// not measured.
func BenchmarkBatch(b *testing.B) {
	const spansPerBatch, copies = 500, 1 // small, so that they stay in the cache as in a pipeline
	batch := func(cpuEvery int) ptrace.Traces {
		td := ptrace.NewTraces()
		spans := process(td, spot)
		for i := range spansPerBatch {
			span := call(spans, 12345, 0.01, 0.05)
			if i%cpuEvery != 0 {
				span.Attributes().Remove(methodspan.AttrCPUTime)
			}
			for _, name := range []string{methodspan.AttrFunction, methodspan.AttrCaller, methodspan.AttrTier, methodspan.AttrReason, methodspan.AttrCPUState} {
				span.Attributes().PutStr(name, "shop/cart.(*Cart).Total")
			}
			span.Attributes().PutDouble(methodspan.AttrConfiguredRate, 0.01)
			span.Attributes().PutDouble(methodspan.AttrEffectiveRate, 0.01)
		}
		return td
	}
	path := priceBook(b, twoPrices)
	for _, c := range []struct {
		name     string
		previews bool
		cpuEvery int
	}{
		{"price only", false, 1},
		{"previews, CPU on every span", true, 1},
		{"previews, CPU on one span in twenty", true, 20},
	} {
		b.Run(c.name, func(b *testing.B) {
			whole := batch(c.cpuEvery)
			set := processortest.NewNopSettings(NewFactory().Type())
			set.TelemetrySettings = componenttest.NewTelemetry().NewTelemetrySettings()
			p, err := NewFactory().CreateTraces(context.Background(), set, &Config{PriceBook: path, Previews: c.previews}, consumertest.NewNop())
			require.NoError(b, err)
			require.NoError(b, p.Start(context.Background(), componenttest.NewNopHost()))
			defer func() { require.NoError(b, p.Shutdown(context.Background())) }()
			encoded, err := new(ptrace.ProtoMarshaler).MarshalTraces(whole)
			require.NoError(b, err)
			batches := make([]ptrace.Traces, copies)
			fill := func() {
				for j := range batches {
					batches[j], err = new(ptrace.ProtoUnmarshaler).UnmarshalTraces(encoded)
					require.NoError(b, err)
				}
			}
			fill()
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if c.previews && i > 0 && i%copies == 0 { // a price alone leaves the spans as they are
					b.StopTimer()
					fill()
					b.StartTimer()
				}
				if err := p.ConsumeTraces(context.Background(), batches[i%copies]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/spansPerBatch, "ns/span")
		})
	}
}
