package ring

import (
	"sync"
	"sync/atomic"
	"testing"
)

type record struct{ start, wall int64 }

func put(r *Ring[record], rec record) bool {
	p, at := r.Claim()
	if p == nil {
		return false
	}
	p.Record = rec
	p.Publish(at)
	return true
}

// Every record that is put is taken once, in the order of its goroutine; a full
// ring refuses and overwrites nothing.
func TestRing_LosesNothing(t *testing.T) {
	r := New[record](64)
	const goroutines, each = 4, 20_000
	var refused atomic.Int64
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			for i := range each {
				if !put(r, record{start: int64(g), wall: int64(i)}) {
					refused.Add(1)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		running.Wait()
		close(done)
	}()
	last := [goroutines]int64{-1, -1, -1, -1}
	taken := int64(0)
	var batch []record
	for finished := false; !finished; {
		select {
		case <-done:
			finished = true
		default:
		}
		batch = r.Dequeue(batch[:0], 64)
		for _, rec := range batch {
			if rec.wall <= last[rec.start] {
				t.Fatalf("goroutine %d: %d after %d", rec.start, rec.wall, last[rec.start])
			}
			last[rec.start] = rec.wall
			taken++
		}
	}
	if taken+refused.Load() != goroutines*each || taken != r.Accepted() || r.Length() != 0 {
		t.Errorf("%d taken, %d refused of %d, %d left", taken, refused.Load(), goroutines*each, r.Length())
	}
}

func TestRing_FullRefuses(t *testing.T) {
	r := New[record](4)
	for i := range 4 {
		if !put(r, record{wall: int64(i)}) {
			t.Fatalf("place %d is refused", i)
		}
	}
	if put(r, record{wall: 9}) {
		t.Error("a full ring took a record")
	}
	r.Dequeue(nil, 1)
	if !put(r, record{wall: 4}) {
		t.Error("a ring with room refused a record")
	}
	for i, rec := range r.Dequeue(nil, 9) {
		if rec.wall != int64(i+1) {
			t.Errorf("record %d is %d", i, rec.wall)
		}
	}
}
