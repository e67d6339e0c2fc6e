package main

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/integration/truth"
	corehour "github.com/corehour/corehour/sdk"
)

// pattern is what calls are made, and how fast.
type pattern struct {
	calls      int64
	goroutines int
	methods    int
	work       time.Duration
	pause      time.Duration
	slowEvery  int64
	slowBurst  int64
	slowWork   time.Duration
}

func newMethods(n int) []*corehour.Method {
	methods := make([]*corehour.Method, n)
	for i := range methods {
		methods[i] = corehour.NewMethod(truth.CodeName(i))
	}
	return methods
}

// run makes calls until there are enough or the context ends.
func (p pattern) run(ctx context.Context, methods []*corehour.Method, counters *truth.Counters) {
	var taken atomic.Int64
	var wg sync.WaitGroup
	for g := range p.goroutines {
		wg.Go(func() {
			// The thread's CPU clock is this goroutine's as long as it keeps the thread.
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

// call is one call of an instrumented method, with its own readings of the
// clocks right inside those of the probe.
func call(m *corehour.Method, counters *truth.Counters, i int, work time.Duration) {
	counters.Call(i)
	defer m.Begin().End()
	if work == 0 {
		return
	}
	cpu, begin := threadCPU(), time.Now()
	for time.Since(begin) < work {
	}
	counters.Took(i, time.Since(begin), threadCPU()-cpu)
}
