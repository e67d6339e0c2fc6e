package corehour

import (
	"context"
	"runtime"
	"testing"

	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/export"
	"github.com/corehour/corehour/sdk/internal/hostclock"
)

// The paths of a probe, each next to its floor. Subtract "bare" for the net cost.

//go:noinline
func bare(x int) int { return x + 1 }

var benchMethod = NewMethod("github.com/corehour/corehour/sdk.probed")

//go:noinline
func probed(x int) int {
	c := benchMethod.Begin()
	x++
	c.End()
	return x
}

//go:noinline
func probedDefer(x int) int {
	defer benchMethod.Begin().End()
	return x + 1
}

//go:noinline
func emptyDefer(x int) int {
	defer bare(x)
	return x + 1
}

// drain accepts requests without reading them, so that the other processor has little to do.
func drain(*request) (export.Outcome, error) { return export.Accepted, nil }

func benchEngine(b *testing.B) *engine {
	c := defaultConfig()
	c.queue = 1 << 16
	e, err := newEngine(c)
	if err != nil {
		b.Fatal(err)
	}
	e.out = drain
	if err := e.install(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.shutdown(context.Background()) })
	return e
}

func benchProbe(b *testing.B, s settings) {
	e := benchEngine(b)
	force(e, benchMethod, s)
	sink := 0
	b.ReportAllocs()
	for b.Loop() {
		sink = probed(sink)
	}
}

func BenchmarkBare(b *testing.B) {
	sink := 0
	for b.Loop() {
		sink = bare(sink)
	}
}

func BenchmarkEmptyDefer(b *testing.B) {
	sink := 0
	for b.Loop() {
		sink = emptyDefer(sink)
	}
}

func BenchmarkTwoClocks(b *testing.B) {
	for b.Loop() {
		_ = now()
		_ = now()
	}
}

func BenchmarkFourClocks(b *testing.B) {
	for b.Loop() {
		_ = now()
		_ = hostclock.ThreadCPU()
		_ = hostclock.ThreadCPU()
		_ = now()
	}
}

func BenchmarkTwoClocksAndStack(b *testing.B) {
	for b.Loop() {
		var pcs [callers.Near]uintptr
		runtime.Callers(1, pcs[:])
		_ = now()
		_ = now()
	}
}

func BenchmarkDisabled(b *testing.B) {
	sink := 0
	b.ReportAllocs()
	for b.Loop() {
		sink = probed(sink)
	}
}

func BenchmarkDisabledDefer(b *testing.B) {
	sink := 0
	b.ReportAllocs()
	for b.Loop() {
		sink = probedDefer(sink)
	}
}

func BenchmarkUnsampled(b *testing.B) { benchProbe(b, settings{rate: 0.001, cpuRate: 1}) }

func BenchmarkUnsampledDefer(b *testing.B) {
	e := benchEngine(b)
	force(e, benchMethod, settings{rate: 0.001, cpuRate: 1})
	sink := 0
	for b.Loop() {
		sink = probedDefer(sink)
	}
}

func BenchmarkUnsampledBusy(b *testing.B) {
	e := benchEngine(b)
	registry.mu.Lock()
	benchMethod.shardCounters(shardCount())
	registry.mu.Unlock()
	force(e, benchMethod, settings{rate: 0.001, cpuRate: 1})
	sink := 0
	b.ReportAllocs()
	for b.Loop() {
		sink = probed(sink)
	}
}

func BenchmarkUnsampledTwoGoroutines(b *testing.B) {
	e := benchEngine(b)
	registry.mu.Lock()
	benchMethod.shardCounters(shardCount())
	registry.mu.Unlock()
	force(e, benchMethod, settings{rate: 0.001, cpuRate: 1})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		sink := 0
		for pb.Next() {
			sink = probed(sink)
		}
	})
}

func BenchmarkWall(b *testing.B) { benchProbe(b, settings{rate: 1, noCaller: true}) }

func BenchmarkWallCaller(b *testing.B) { benchProbe(b, settings{rate: 1}) }

func BenchmarkWallCPU(b *testing.B) { benchProbe(b, settings{rate: 1, cpuRate: 1, noCaller: true}) }

func BenchmarkWallCPUCaller(b *testing.B) { benchProbe(b, settings{rate: 1, cpuRate: 1}) }

func BenchmarkAggregate(b *testing.B) {
	benchProbe(b, settings{mode: Aggregate, rate: 0.001, noCaller: true})
}
