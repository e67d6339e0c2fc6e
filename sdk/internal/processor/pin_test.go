package processor

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// What is added up without locks, by processor, is exact, while more goroutines than
// processors do it and GOMAXPROCS changes.
func TestNothingElseRunsWhilePinned(t *testing.T) {
	if !Available {
		return
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const goroutines, each, most = 8, 100_000, 4
	var counters [most]struct {
		n int64
		_ [56]byte
	}
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() {
			for range each {
				counters[Pin()].n++
				Unpin()
			}
		})
	}
	var done atomic.Bool
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		for i := 0; !done.Load(); i++ {
			runtime.GOMAXPROCS(1 + i%most)
			runtime.Gosched()
		}
	}()
	running.Wait()
	done.Store(true)
	<-changed
	total := int64(0)
	for i := range counters {
		total += counters[i].n
	}
	if total != goroutines*each {
		t.Errorf("%d of %d", total, goroutines*each)
	}
}

func BenchmarkPinned(b *testing.B) {
	n := 0
	for b.Loop() {
		n += Pin()
		Unpin()
	}
}
