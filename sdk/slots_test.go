package corehour

import (
	"math"
	"testing"
)

var slotted = NewMethod("slotted.Method")

// heldCalls begins calls on goroutines of their own, each of which keeps its
// thread, until the returned function lets them end.
func heldCalls(m *Method, n int) (release func()) {
	began, ended := make(chan struct{}), make(chan struct{})
	quit := make(chan struct{})
	for range n {
		go func() {
			call := m.Begin()
			began <- struct{}{}
			<-quit
			call.End()
			ended <- struct{}{}
		}()
		<-began
	}
	return func() {
		close(quit)
		for range n {
			<-ended
		}
	}
}

// A method holds an eighth of the slots at most; the chance to get one falls
// before, and is stored with the record.
func TestSlotsAreBounded(t *testing.T) {
	e, _ := startWith(t, func(c *config) {})
	if !e.threadClock {
		return // no slot is ever taken where there is no thread clock
	}
	force(e, slotted, settings{rate: 1, cpuRate: 1, noCaller: true})
	release := heldCalls(slotted, 400)
	held := int(slotted.cpuHeld.Load())
	release()
	if allowed := int(e.slots.perMethod); held < allowed/2 || held > allowed {
		t.Errorf("%d slots held by one method, at most %d allowed", held, allowed)
	}
	if cpuSlots.held() != 0 || slotted.cpuHeld.Load() != 0 {
		t.Errorf("%d slots held after all calls ended, %d by the method", cpuSlots.held(), slotted.cpuHeld.Load())
	}
	var states [cpuStates]int
	for _, r := range e.ring.dequeue(nil, 1000) {
		states[r.state]++
		if p := r.cpuP(); !(p >= 0.02 && p <= 1) {
			t.Fatalf("cpu_p = %v", p)
		}
		if r.state == cpuExact && r.load == 0 && r.cpuP() != 1 {
			t.Fatalf("cpu_p = %v when nothing was held", r.cpuP())
		}
	}
	refused := int(e.counters.slotRefusals.Load())
	cold := states[cpuUnavailable] - refused // had a slot, and lost the processor as they began
	if cold < 0 || states[cpuExact]+cold != held || held+states[cpuNotSampled]+refused != 400 {
		t.Errorf("%d held, %d refused; exact %d, not sampled %d, unavailable %d, untrusted %d", held, refused,
			states[cpuExact], states[cpuNotSampled], states[cpuUnavailable], states[cpuUntrusted])
	}
}

// In a program that may have fewer threads there are fewer slots, for all methods and
// for each, and none where that would be next to nothing.
func TestSlotsAreAShareOfTheThreads(t *testing.T) {
	for threads, want := range map[int]int{
		0: 0, 63: 0, 64: 8, 127: 8, 128: 16, 200: 16, 512: 64, 1023: 64, 1024: 128, 10_000: 128, math.MaxInt32: 128,
	} {
		if got := slotsWithin(threads); got != want {
			t.Errorf("%d threads: %d slots, want %d", threads, got, want)
		}
	}
	for slots := leastSlots; slots <= slotsPerProgram; slots *= 2 {
		e, _ := startWith(t, func(c *config) {})
		if !e.threadClock {
			return
		}
		e.slots = boundsOfSlots(slots)
		var releases []func()
		most := 0
		for i := range 2 * methodShare {
			m := NewMethod("slotted.Of" + string(rune('a'+i)))
			force(e, m, settings{rate: 1, cpuRate: 1, noCaller: true})
			for range slots {
				if slot := e.takeSlot(m); slot != noSlot {
					releases = append(releases, func() { cpuSlots.release(slot, m) })
				}
			}
			most = max(most, int(m.cpuHeld.Load()))
			if load := cpuSlots.load(m, &e.slots); i == 0 && load != slotsPerProgram {
				t.Errorf("of %d slots the method holds its share, and the load is %d", slots, load)
			}
		}
		if held := cpuSlots.held(); held != slots || most != slots/methodShare {
			t.Errorf("of %d slots %d are held, %d by a method", slots, held, most)
		}
		for _, release := range releases {
			release()
		}
		if load := cpuSlots.load(slotted, &e.slots); load != 0 {
			t.Errorf("the load is %d where nothing is held", load)
		}
		e.shutdownForTest()
	}
}

func TestTheShareFallsWithTheLoad(t *testing.T) {
	for load := range slotsPerProgram + 1 {
		x := float64(load) / 64
		want := 0.5 * math.Max(0.02, 1-x*x)
		if got := slotLoad(load).share(0.5); math.Abs(got-want) > 1e-15 {
			t.Errorf("load %d: %v, want %v", load, got, want)
		}
	}
}

// A method whose call holds its thread for a second is timed by the wall from
// then on, and a message says so.
func TestAMethodThatWaitsBecomesWallOnly(t *testing.T) {
	e, _ := startWith(t, func(c *config) {})
	if !e.threadClock {
		return
	}
	force(e, slotted, settings{rate: 1, cpuRate: 1})
	release := heldCalls(slotted, 1)
	began := now() // looks at times of its own, however long they are apart on the clock
	e.freeSlots(began)
	e.freeSlots(began + int64(slotPatience)/2)
	if slotted.plan.Load().cpuRate != 1 {
		t.Error("wall only at once")
	}
	e.freeSlots(began + int64(slotPatience))
	if slotted.plan.Load().cpuRate != 0 || e.counters.wallOnly.Load() != 1 {
		t.Errorf("CPU rate %v, %d methods wall-only", slotted.plan.Load().cpuRate, e.counters.wallOnly.Load())
	}
	e.freeSlots(began + 2*int64(slotPatience))
	if n := e.counters.wallOnly.Load(); n != 1 {
		t.Errorf("counted %d times", n)
	}
	slotted.Begin().End()
	release()
	if r := e.ring.dequeue(nil, 3); len(r) != 2 || r[0].state != cpuNotSampled || r[0].cpuP() != 0 || r[1].state != cpuExact {
		t.Errorf("records %+v", r)
	}
}

func TestBlockingMethodsAreNeverLocked(t *testing.T) {
	m := NewMethod("slotted.Blocking", Blocking(), Rate(1), CPURate(1))
	e, _ := startWith(t, func(c *config) {})
	m.Begin().End()
	if r := e.ring.dequeue(nil, 2); len(r) != 1 || r[0].state != cpuNotSampled || r[0].cpuP() != 0 {
		t.Errorf("records %+v", r)
	}
}
