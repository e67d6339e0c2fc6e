package main

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/integration/groundtruth"
	corehour "github.com/corehour/corehour/sdk"
)

// pattern is the number, pace and length of calls.
type pattern struct {
	calls      int64
	goroutines int
	methods    int
	work       time.Duration
	pause      time.Duration
	slowEvery  int64
	slowBurst  int64
	slowWork   time.Duration
	rare       time.Duration
	fastest    float64
}

func newMethods(n int) []*corehour.Method {
	methods := make([]*corehour.Method, n)
	for i := range methods {
		methods[i] = corehour.NewMethod(groundtruth.CodeName(i))
	}
	return methods
}

// makeCalls makes calls until the number is reached or the context ends.
func (p pattern) makeCalls(ctx context.Context, methods []*corehour.Method, counters *groundtruth.Counters) {
	if p.fastest > 0 {
		p.paced(ctx, methods, counters)
		return
	}
	var taken atomic.Int64
	var wg sync.WaitGroup
	if p.rare > 0 {
		last := len(methods) - 1
		rare := methods[last]
		methods = methods[:last]
		wg.Go(func() { p.callSeldom(ctx, rare, counters, last) })
	}
	for g := range p.goroutines {
		wg.Go(func() {
			// The thread's CPU clock belongs to this goroutine as long as it keeps the thread.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for n := int64(0); ctx.Err() == nil; n++ {
				if p.calls > 0 && taken.Add(1) > p.calls {
					return
				}
				slow := p.slowEvery > 0 && n%p.slowEvery < p.slowBurst
				work := p.work
				if slow {
					work = p.slowWork
				}
				i := (g + int(n)) % len(methods)
				call(methods[i], counters, i, work)
				if p.pause > 0 && !slow {
					time.Sleep(p.pause)
				}
			}
		})
	}
	wg.Wait()
}

// callSeldom calls one method at a pace.
func (p pattern) callSeldom(ctx context.Context, m *corehour.Method, counters *groundtruth.Counters, i int) {
	ticker := time.NewTicker(p.rare)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			outer, outerCPU := time.Now(), cpuOf(p.work)
			wall, cpu := probedSeldom(m, counters, i, p.work)
			outerCPU = cpuOf(p.work) - outerCPU
			counters.Took(i, groundtruth.Method{WallNS: int64(wall), OuterWallNS: int64(time.Since(outer)), CPUNS: int64(cpu), OuterCPUNS: int64(outerCPU)})
		}
	}
}

// probedSeldom is a separate function: a function that begins several methods is no known caller.
func probedSeldom(m *corehour.Method, counters *groundtruth.Counters, i int, work time.Duration) (wall, cpu time.Duration) {
	counters.Call(i)
	defer m.Begin().End()
	return working(work)
}

// call makes one call of an instrumented method and reads the clocks around the probe and right
// inside of it.
func call(m *corehour.Method, counters *groundtruth.Counters, i int, work time.Duration) {
	outer, outerCPU := time.Now(), cpuOf(work)
	wall, cpu := probed(m, counters, i, work)
	outerCPU = cpuOf(work) - outerCPU
	counters.Took(i, groundtruth.Method{WallNS: int64(wall), OuterWallNS: int64(time.Since(outer)), CPUNS: int64(cpu), OuterCPUNS: int64(outerCPU)})
}

// cpuOf reads the thread's CPU time around a call that computes. Calls that do nothing are too many
// for that.
func cpuOf(work time.Duration) time.Duration {
	if work == 0 {
		return 0
	}
	return threadCPU()
}

func probed(m *corehour.Method, counters *groundtruth.Counters, i int, work time.Duration) (wall, cpu time.Duration) {
	counters.Call(i)
	defer m.Begin().End()
	return working(work)
}

func working(work time.Duration) (wall, cpu time.Duration) {
	if work == 0 {
		return 0, 0
	}
	begin := time.Now()
	cpu = threadCPU()
	compute(begin, work)
	cpu = threadCPU() - cpu
	return time.Since(begin), cpu
}

// compute is busy for a time. It reads the clock seldom: the scheduler cannot interrupt a goroutine
// that reads the clock, and would wait until the work is measured and the call has not yet ended.
func compute(begin time.Time, work time.Duration) {
	x := uint64(1)
	for time.Since(begin) < work {
		for range 5000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	result.Store(x)
}

var result atomic.Uint64 // keeps the work from being optimised away
