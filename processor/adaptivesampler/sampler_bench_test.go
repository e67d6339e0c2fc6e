//go:build unix

package adaptivesampler

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/probabilisticsamplerprocessor"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// budgetConfig returns a configuration with room for everything that a benchmark sends.
func budgetConfig() *Config {
	c := createDefaultConfig().(*Config)
	c.Strategy = decide.StrategyBudget
	c.Interval = 24 * time.Hour // the benchmark triggers steps itself
	c.Budget.RecordsPerSecond = 1e9
	return c
}

// BenchmarkBudgetBesidePeer compares the CPU time of this processor, with the strategy budget, to that of the stock
// probabilistic sampler. Both run alternately in one process, on batches as decoded by a receiver. `make bench
// WHAT=sampler` parses the output.
func BenchmarkBudgetBesidePeer(b *testing.B) {
	for _, c := range []struct {
		name       string
		p, rate    float64
		percentage float32
	}{
		{"kept", 0.01, 0.01, 100},
		{"thinned", 1, 0.1, 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			config := budgetConfig()
			config.ColdStart.Rate = c.rate
			ours, err := NewFactory().CreateTraces(context.Background(), quiet(NewFactory()), config, consumertest.NewNop())
			require.NoError(b, err)
			factory := probabilisticsamplerprocessor.NewFactory()
			stock := factory.CreateDefaultConfig().(*probabilisticsamplerprocessor.Config)
			stock.SamplingPercentage = c.percentage
			peer, err := factory.CreateTraces(context.Background(), quiet(factory), stock, consumertest.NewNop())
			require.NoError(b, err)
			for _, p := range []processor.Traces{ours, peer} {
				require.NoError(b, p.Start(context.Background(), componenttest.NewNopHost()))
				defer func() { require.NoError(b, p.Shutdown(context.Background())) }()
			}
			wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(benchmarkBatch(c.p, false))
			require.NoError(b, err)
			var used [2]time.Duration
			b.ResetTimer()
			for range b.N {
				for i, p := range []processor.Traces{ours, peer} {
					used[i] += cpuOf(b, p, wire)
				}
			}
			spans := float64(b.N) * batchesPerTurn * spansPerBatch
			b.ReportMetric(used[0].Seconds()/spans*1e6, "cpu-s/M")
			b.ReportMetric(used[1].Seconds()/spans*1e6, "peer-cpu-s/M")
		})
	}
}

const batchesPerTurn = 50

// cpuOf decodes batches and measures the CPU time of the process while they are consumed.
func cpuOf(b *testing.B, p processor.Traces, wire []byte) time.Duration {
	batches := make([]ptrace.Traces, batchesPerTurn)
	for i := range batches {
		var err error
		batches[i], err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(wire)
		require.NoError(b, err)
	}
	runtime.GC()
	before := processCPU(b)
	for _, td := range batches {
		require.NoError(b, p.ConsumeTraces(context.Background(), td))
	}
	return processCPU(b) - before
}

func quiet(f processor.Factory) processor.Settings {
	set := processortest.NewNopSettings(f.Type())
	set.TelemetrySettings = componenttest.NewTelemetry().NewTelemetrySettings()
	return set
}

// BenchmarkMemory sends 100,000 methods of each of 100 services with a bound of 50,000 methods, and 10,000 of each with
// a bound of 500,000. It reports the memory used in total and per method with a place.
func BenchmarkMemory(b *testing.B) {
	for bound, methods := range map[int]int{50_000: 100_000, 500_000: 10_000} {
		b.Run(strconv.Itoa(bound), func(b *testing.B) {
			for range b.N {
				config := budgetConfig()
				config.MaxMethods = bound
				runtime.GC()
				before := heap()
				s, err := newSampler(config, component.NewID(NewFactory().Type()), quiet(NewFactory()).TelemetrySettings, strategyOf(config), seeded(1))
				require.NoError(b, err)
				require.NoError(b, s.start(context.Background(), componenttest.NewNopHost()))
				begin := time.Now()
				offer(b, s, 100, methods)
				s.loop.step(begin.Add(time.Minute))
				offer(b, s, 100, 1)
				s.loop.step(begin.Add(2 * time.Minute))
				runtime.GC()
				taken := heap() - before
				b.ReportMetric(float64(taken)/(1<<20), "MiB")
				b.ReportMetric(float64(taken)/float64(s.table.count), "B/method")
				b.ReportMetric(float64(s.table.count), "methods")
				require.NoError(b, s.shutdown(context.Background()))
			}
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// offer sends one measurement for each method of each service.
func offer(b *testing.B, s *sampler, services, methods int) {
	const size = 1000
	for service := range services {
		for from := 0; from < methods; from += size {
			td := ptrace.NewTraces()
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr(methodspan.ResourceService, fmt.Sprint("service", service))
			spans := rs.ScopeSpans().AppendEmpty().Spans()
			spans.EnsureCapacity(size)
			for i := from; i < min(from+size, methods); i++ {
				span := spans.AppendEmpty()
				span.SetEndTimestamp(1000)
				attributes := span.Attributes()
				attributes.EnsureCapacity(6)
				attributes.PutStr(methodspan.AttrKind, methodspan.KindCall)
				attributes.PutStr(methodspan.AttrFunction, "example.com/team/service/package.(*Type).Method"+strconv.Itoa(i))
				attributes.PutDouble(methodspan.AttrP, 1e-3)
			}
			if _, err := s.process(context.Background(), td); err != nil {
				b.Fatal(err)
			}
		}
	}
}
