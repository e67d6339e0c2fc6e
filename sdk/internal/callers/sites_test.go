package callers

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A slot that no address has claimed has no site: the next address would get it.
func TestSites_ZeroAddress(t *testing.T) {
	siteAt(0)
	for i := range addresses {
		if a := &addresses[i]; a.pc.Load() == 0 && a.site.Load() != nil {
			t.Fatalf("slot %d has a site and no address", i)
		}
	}
}

// First calls of one method at the same time agree on whose probe a function holds.
func TestSites_ConcurrentFirstCalls(t *testing.T) {
	m, other := &Owner{Name: "first.Calls"}, &Owner{Name: "first.Other"}
	for range 4000 {
		f := new(function)
		var ready atomic.Int32
		var running sync.WaitGroup
		for range 2 {
			running.Go(func() {
				for ready.Add(1); ready.Load() < 2; {
				}
				f.holds(m)
			})
		}
		running.Wait()
		if f.owner.Load() != m {
			t.Fatalf("the owner is %s", f.owner.Load().Name)
		}
		f.holds(other)
		if f.owner.Load() != ambiguous {
			t.Fatalf("with two methods the owner is %s", f.owner.Load().Name)
		}
	}
}
