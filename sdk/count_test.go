package corehour

import (
	"context"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

var exactMethods = []*Method{NewMethod("exact.a"), NewMethod("exact.b"), NewMethod("exact.c")}

// Counts are exact under any schedule: many goroutines, changes of rate, mode and GOMAXPROCS, counters
// that spread, and a queue that is full all the time.
func TestCounts_Exact(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	stop, err := Start(context.Background(), WithWriter(io.Discard), WithQueue(16))
	if err != nil {
		t.Fatal(err)
	}
	e := registry.engine
	before := make([]int64, len(exactMethods))
	for i, m := range exactMethods {
		before[i] = m.Calls()
	}
	const perGoroutine = 30_000
	var calls [3]atomic.Int64
	var running sync.WaitGroup
	for g := range 8 {
		running.Go(func() {
			for i := range perGoroutine {
				which := (i + g) % len(exactMethods)
				calls[which].Add(1)
				exactMethods[which].Begin().End()
			}
		})
	}
	changed := make(chan struct{})
	quit := make(chan struct{})
	go func() {
		defer close(changed)
		random := rand.New(rand.NewPCG(8, 1))
		modes := []settings{{rate: 0.7, tail: true, stack: true}, {rate: 1, noCaller: true}, {rate: 0.3}, {mode: Aggregate, rate: 0.1, cpuRate: 0.5}, {rate: 0.5, cpuRate: 1}, {rate: 0}}
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			default:
			}
			runtime.GOMAXPROCS(1 + random.IntN(4))
			m := exactMethods[random.IntN(len(exactMethods))]
			if i == 20 {
				registry.mu.Lock()
				exactMethods[0].shardCounters(8)
				exactMethods[1].shardCounters(2) // fewer than processors
				registry.mu.Unlock()
			}
			force(e, m, modes[random.IntN(len(modes))])
			runtime.Gosched()
		}
	}()
	running.Wait()
	close(quit)
	<-changed
	for i, m := range exactMethods {
		if got, want := m.Calls()-before[i], calls[i].Load(); got != want {
			t.Errorf("%s: counted %d of %d calls", m.Name(), got, want)
		}
	}
	if err := stop(context.Background()); err != nil {
		t.Error(err)
	}
}
