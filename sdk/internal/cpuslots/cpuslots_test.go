package cpuslots

import (
	"math"
	"sync/atomic"
	"testing"
)

// In a program that may have fewer threads there are fewer slots, for all methods and
// for each, and none where that would be next to nothing.
func TestWithin_ShareOfThreads(t *testing.T) {
	for threads, want := range map[int]int{
		0: 0, 63: 0, 64: 8, 127: 8, 128: 16, 200: 16, 512: 64, 1023: 64, 1024: 128, 10_000: 128, math.MaxInt32: 128,
	} {
		if got := Within(threads); got != want {
			t.Errorf("%d threads: %d slots, want %d", threads, got, want)
		}
	}
	for slots := least; slots <= Most; slots *= 2 {
		var table Table[int]
		b := Of(slots)
		var refusals atomic.Int64
		var releases []func()
		most := 0
		for i := range 2 * methodShare {
			method, holder := new(int), new(Holder)
			for range slots {
				if slot := table.Take(method, holder, &b, &refusals); slot != None {
					releases = append(releases, func() { table.Release(slot, holder) })
				}
			}
			most = max(most, int(holder.Held.Load()))
			if load := table.Load(holder, &b); i == 0 && load != Most {
				t.Errorf("of %d slots the method holds its share, and the load is %d", slots, load)
			}
		}
		if held := table.Held(); held != slots || most != slots/methodShare || int(refusals.Load()) != (2*methodShare-1)*slots {
			t.Errorf("of %d slots %d are held, %d by a method; %d refusals", slots, held, most, refusals.Load())
		}
		for _, release := range releases {
			release()
		}
		if load := table.Load(new(Holder), &b); load != 0 {
			t.Errorf("the load is %d where nothing is held", load)
		}
	}
}

func TestShare_FallsWithLoad(t *testing.T) {
	for load := range Most + 1 {
		x := float64(load) / 64
		want := 0.5 * math.Max(0.02, 1-x*x)
		if got := Load(load).Share(0.5); math.Abs(got-want) > 1e-15 {
			t.Errorf("load %d: %v, want %v", load, got, want)
		}
	}
}
