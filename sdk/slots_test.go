package corehour

import (
	"testing"

	"github.com/corehour/corehour/sdk/internal/cpuslots"
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

// A method holds at most an eighth of the slots; the probability of getting one falls before that, and is
// stored with the record.
func TestSlots_Bounded(t *testing.T) {
	e, _ := startWith(t, func(c *config) {})
	if !e.threadClock {
		return // no slot is ever taken where there is no thread clock
	}
	force(e, slotted, settings{rate: 1, cpuRate: 1, noCaller: true})
	release := heldCalls(slotted, 400)
	held := int(slotted.cpu.Held.Load())
	release()
	if allowed := int(e.slots.PerMethod); held < allowed/2 || held > allowed {
		t.Errorf("%d slots held by one method, at most %d allowed", held, allowed)
	}
	if cpuSlots.Held() != 0 || slotted.cpu.Held.Load() != 0 {
		t.Errorf("%d slots held after all calls ended, %d by the method", cpuSlots.Held(), slotted.cpu.Held.Load())
	}
	var states [cpuStates]int
	for _, r := range e.ring.Dequeue(nil, 1000) {
		states[r.state]++
		if p := r.cpuP(); !(p >= 0.02 && p <= 1) {
			t.Fatalf("cpu_p = %v", p)
		}
		if r.state == cpuExact && r.load == 0 && r.cpuP() != 1 {
			t.Fatalf("cpu_p = %v when nothing was held", r.cpuP())
		}
	}
	refused := int(e.counters.slotRefusals.Load())
	cold := states[cpuUnavailable] - refused // had a slot, but lost the processor at the start
	if cold < 0 || states[cpuExact]+cold != held || held+states[cpuNotSampled]+refused != 400 {
		t.Errorf("%d held, %d refused; exact %d, not sampled %d, unavailable %d, untrusted %d", held, refused,
			states[cpuExact], states[cpuNotSampled], states[cpuUnavailable], states[cpuUntrusted])
	}
}

// A method with a call that holds its thread for a second is timed by the wall from then on, and a message
// names it.
func TestSlots_WaitingMethodWallOnly(t *testing.T) {
	e, _ := startWith(t, func(c *config) {})
	if !e.threadClock {
		return
	}
	force(e, slotted, settings{rate: 1, cpuRate: 1})
	release := heldCalls(slotted, 1)
	began := now() // the test passes its own times
	e.freeSlots(began)
	e.freeSlots(began + int64(cpuslots.Patience)/2)
	if slotted.plan.Load().cpuRate != 1 {
		t.Error("wall only at once")
	}
	e.freeSlots(began + int64(cpuslots.Patience))
	if slotted.plan.Load().cpuRate != 0 || e.counters.wallOnly.Load() != 1 {
		t.Errorf("CPU rate %v, %d methods wall-only", slotted.plan.Load().cpuRate, e.counters.wallOnly.Load())
	}
	e.freeSlots(began + 2*int64(cpuslots.Patience))
	if n := e.counters.wallOnly.Load(); n != 1 {
		t.Errorf("counted %d times", n)
	}
	slotted.Begin().End()
	release()
	if r := e.ring.Dequeue(nil, 3); len(r) != 2 || r[0].state != cpuNotSampled || r[0].cpuP() != 0 || r[1].state != cpuExact {
		t.Errorf("records %+v", r)
	}
}

func TestBlocking_NeverLocked(t *testing.T) {
	m := NewMethod("slotted.Blocking", Blocking(), Rate(1), CPURate(1))
	e, _ := startWith(t, func(c *config) {})
	m.Begin().End()
	if r := e.ring.Dequeue(nil, 2); len(r) != 1 || r[0].state != cpuNotSampled || r[0].cpuP() != 0 {
		t.Errorf("records %+v", r)
	}
}
