package adaptivesampler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/probabilisticsamplerprocessor"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/corehour/corehour/internal/methodspan"
)

const spansPerBatch = 1000

// benchmarkBatch returns a batch as our SDK sends it: 1000 calls of 100 methods, with the attributes that every
// measurement has.
func benchmarkBatch(p float64, foreign bool) ptrace.Traces {
	random := rand.New(rand.NewPCG(1, 1))
	th := methodspan.ThresholdOf(p)
	b := newBatch("shop")
	for i := range spansPerBatch {
		rv, _ := sampling.UnsignedToRandomness(th.Unsigned() + random.Uint64N(sampling.MaxAdjustedCount-th.Unsigned()))
		state := plain(th, rv)
		if foreign {
			state = ""
		}
		span := b.call(fmt.Sprintf("shop/cart.(*Cart).Method%d", i%100), p, state)
		span.SetTraceID(traceID(random))
		span.Attributes().PutInt(methodspan.AttrCPUTime, 12345)
		span.Attributes().PutDouble(methodspan.AttrCPUP, 0.05)
		span.Attributes().PutStr(methodspan.AttrCPUState, methodspan.CPUExact)
		span.Attributes().PutStr(methodspan.AttrCaller, "shop/web.Handler.Get")
		span.Attributes().PutStr(methodspan.AttrIDs, methodspan.IDsSynthetic)
		if foreign {
			span.Attributes().PutStr(methodspan.AttrWeightBasis, methodspan.BasisAssumed)
		}
	}
	return b.Traces
}

// BenchmarkBatch reports ns and allocations per span. The copying of batches is not measured.
func BenchmarkBatch(b *testing.B) {
	for _, c := range []struct {
		name    string
		rate, p float64
		foreign bool
	}{
		{"all stay as they are", 1, 0.01, false},
		{"half are thinned", 0.25, 0.5, false},
		{"nine tenths are thinned", 0.1, 1, false},
		{"half are thinned, no th", 0.5, 1, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			set := processortest.NewNopSettings(NewFactory().Type())
			set.TelemetrySettings = componenttest.NewTelemetry().NewTelemetrySettings()
			path := methodsFile(b, fmt.Sprintf(`{"version": 1, "tiers": {"inner": {"rate": %v}}, "methods": [{"match": "shop/cart.*", "tier": "inner"}]}`, c.rate))
			p, err := NewFactory().CreateTraces(context.Background(), set, complete(&Config{DefaultRate: 1, MethodsFile: path}), consumertest.NewNop())
			require.NoError(b, err)
			require.NoError(b, p.Start(context.Background(), componenttest.NewNopHost()))
			defer func() { require.NoError(b, p.Shutdown(context.Background())) }()
			perSpan(b, benchmarkBatch(c.p, c.foreign), func(td ptrace.Traces) error { return p.ConsumeTraces(context.Background(), td) })
		})
	}
}

func BenchmarkProbabilisticSampler(b *testing.B) {
	factory := probabilisticsamplerprocessor.NewFactory()
	set := processortest.NewNopSettings(factory.Type())
	set.TelemetrySettings = componenttest.NewTelemetry().NewTelemetrySettings()
	for _, percentage := range []float32{100, 50, 10} {
		b.Run(fmt.Sprintf("%v%%", percentage), func(b *testing.B) {
			config := factory.CreateDefaultConfig().(*probabilisticsamplerprocessor.Config)
			config.SamplingPercentage = percentage
			p, err := factory.CreateTraces(context.Background(), set, config, consumertest.NewNop())
			require.NoError(b, err)
			require.NoError(b, p.Start(context.Background(), componenttest.NewNopHost()))
			defer func() { require.NoError(b, p.Shutdown(context.Background())) }()
			perSpan(b, benchmarkBatch(1, true), func(td ptrace.Traces) error { return p.ConsumeTraces(context.Background(), td) })
		})
	}
}

func perSpan(b *testing.B, whole ptrace.Traces, consume func(ptrace.Traces) error) {
	const copies = 16
	batches := make([]ptrace.Traces, copies)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if i%copies == 0 {
			b.StopTimer()
			for j := range batches {
				batches[j] = ptrace.NewTraces()
				whole.CopyTo(batches[j])
			}
			b.StartTimer()
		}
		if err := consume(batches[i%copies]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/spansPerBatch, "ns/span")
}
