package corehour

import (
	"testing"
	"unsafe"
)

// A counted call uses one cache line if the method is not busy, and two if it is, in arrays of methods,
// too.
func TestCounts_CacheLines(t *testing.T) {
	var m Method
	if end := unsafe.Offsetof(m.first) + unsafe.Sizeof(m.first); end > cacheLine-8 { // 8 bytes can belong to the allocator
		t.Errorf("a call uses the first %d bytes of its method", end)
	}
	if size := unsafe.Sizeof(m); size%cacheLine != 0 {
		t.Errorf("a method has %d bytes, want whole cache lines", size)
	}
	if size := unsafe.Sizeof(shard{}); size != cacheLine {
		t.Errorf("a counter of a busy method has %d bytes, want %d", size, cacheLine)
	}
}

// Only later plans take a counter over, and no call of an earlier plan changes its values.
func TestCounter_TakeOver(t *testing.T) {
	first, second := &plan{number: 1}, &plan{number: 2}
	var c callCounter
	c.takeOver(first)
	before := c.next.Load()
	c.next.CompareAndSwap(before, 100)
	c.takeOver(second)
	if c.takeOver(first); c.plan.Load() != second {
		t.Error("an earlier plan took the counter over")
	}
	if c.next.CompareAndSwap(100, 200) || c.next.CompareAndSwap(before, 200) {
		t.Error("a call of the plan before said which call leaves the fast path")
	}
	c.plan.Store(changing)
	if c.takeOver(&plan{number: 3}); c.plan.Load() != changing {
		t.Error("a counter that is being taken over was taken over")
	}
}

// Counters retain nothing of an SDK that was shut down.
func TestCounter_AfterShutdown(t *testing.T) {
	m := NewMethod("released.Work")
	m.shardCounters(2)
	_, stop := start(t, WithHTTPClient((&collector{}).client()), WithSample(0.5))
	plans := func() (held int) {
		for i := range *m.shards.Load() {
			if (*m.shards.Load())[i].plan.Load() != nil {
				held++
			}
		}
		return held
	}
	for range 100 {
		m.Begin().End()
	}
	if plans() == 0 {
		t.Error("no counter had a plan")
	}
	if stop(); plans() > 0 {
		t.Error("a counter has a plan after the shutdown")
	}
}
