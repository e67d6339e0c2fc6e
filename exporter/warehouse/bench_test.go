//go:build unix

package warehouse

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// BenchmarkConsume measures the CPU cost of the exporter: it converts, queues and stores requests of
// 1000 spans, and shuts down.
func BenchmarkConsume(b *testing.B) {
	requests := make([]ptrace.Traces, 64)
	for i := range requests {
		x := export{instance: fmt.Sprint("pod-", i%4), calls: map[string]int64{}, measured: 9}
		for m := range 100 {
			x.calls[fmt.Sprintf("shop/package%d.(*Type%d).Method%d", m%3, m%10, m)] = 7
		}
		requests[i] = x.traces()
	}
	for _, full := range []bool{false, true} {
		b.Run(fmt.Sprintf("folding=%v", full), func(b *testing.B) {
			cfg := createDefaultConfig().(*Config)
			cfg.Path = b.TempDir()
			cfg.Queue.QueueSize = 1 << 40
			cfg.ShutdownTimeout = 1 << 40
			if full {
				cfg.Queue.QueueSize, cfg.Queue.Batch.Get().MinSize = 2000, 1000
			}
			e, err := NewFactory().CreateTraces(context.Background(), exportertest.NewNopSettings(typ), cfg)
			require.NoError(b, err)
			require.NoError(b, e.Start(context.Background(), componenttest.NewNopHost()))
			rows, n := 0, int64(0)
			begin := cpuSeconds()
			for b.Loop() {
				td := requests[n%64]
				n++
				td.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutInt(methodspan.AttrBatchSeq, n)
				require.NoError(b, e.ConsumeTraces(context.Background(), td))
				rows += td.SpanCount()
			}
			require.NoError(b, e.Shutdown(context.Background()))
			b.ReportMetric(float64(rows)/(cpuSeconds()-begin), "rows/cpu-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cpuSeconds returns the CPU time that the process has used.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
