package main

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/corehour/corehour/sdk"
	"github.com/corehour/corehour/test/figures"
)

// memory measures the memory of methods that are seldom called.
func memory(report *figures.Run) {
	const methods = 10_000
	all := make([]*corehour.Method, methods)
	before := heap()
	for i := range all {
		all[i] = corehour.NewMethod(fmt.Sprintf("bench/many.(*Type).Method%d", i), corehour.Rate(rare))
		all[i].Begin().End()
	}
	used := float64(heap() - before)
	runtime.KeepAlive(all)
	report.Add("memory of a method seldom called", used/methods/1024, "KB", figures.Lower, figures.Goal(2))
	report.Add("memory of 10,000 methods", used/(1<<20), "MB", figures.Lower, figures.Goal(20))
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// allocations adds up the allocations of every path: each must be 0.
func allocations(report *figures.Run) {
	total := 0.0
	for _, f := range []func(int) int{disabled, disabledDefer, skipped, skippedDefer, wall, wallCaller, cpu, cpuCaller, aggregate, tailed} {
		settled()
		total += testing.AllocsPerRun(1000, func() { sinkhole.Store(int64(f(0))) })
	}
	report.Add("allocations per call, all paths", total, "", figures.Lower, figures.Goal(0))
}

// counts compares counted calls with actual ones, while GOMAXPROCS changes.
func counts(report *figures.Run) {
	const goroutines, each = 8, 500_000
	before := skippedMethod.Calls()
	procs := runtime.GOMAXPROCS(0)
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() { loop(skipped)(each) })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		running.Wait()
	}()
	for i := 0; ; i++ {
		select {
		case <-done:
			runtime.GOMAXPROCS(procs)
			miscounted := skippedMethod.Calls() - before - goroutines*each
			report.Add("calls miscounted of 4,000,000", float64(max(miscounted, -miscounted)), "", figures.Lower, figures.Goal(0))
			return
		default:
			runtime.GOMAXPROCS(1 + i%procs)
			runtime.Gosched()
		}
	}
}
