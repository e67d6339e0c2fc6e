package corehour

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A call whose CPU is timed holds its thread, and a thread that waits is lost to
// the others: slots bound how many there are. Most of the threads that the program
// may have are left to it.
const (
	slotsPerProgram = 128
	leastSlots      = 8 // with fewer no CPU is timed
	threadsPerSlot  = 8 // that the program may have
	methodShare     = 8 // a method may hold an eighth of them
	// slotPatience is how long a call may hold a slot before its method is taken
	// for one that waits.
	slotPatience = time.Second
)

// slotBounds are those of an engine, for a number of slots that is a power of two.
type slotBounds struct {
	all       int
	perMethod int32
	words     int    // of the table, with slots that may be taken
	mask      uint64 // of these in each word
	weight    int    // of a slot, in slots of a program that may have all
}

func boundsOfSlots(n int) slotBounds {
	b := slotBounds{all: n, perMethod: int32(n / methodShare), words: (n + 63) / 64, mask: ^uint64(0)}
	if n < 64 {
		b.mask = 1<<n - 1
	}
	if n > 0 {
		b.weight = slotsPerProgram / n
	}
	return b
}

// slotsWithin returns how many slots there are in a program that may have so many threads.
func slotsWithin(threads int) int {
	n := min(threads/threadsPerSlot, slotsPerProgram)
	if n < leastSlots {
		return 0
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

type slotTable struct {
	taken   [slotsPerProgram / 64]atomic.Uint64
	details [slotsPerProgram]detail
	method  [slotsPerProgram]atomic.Pointer[Method] // that has or had the slot
	seen    [slotsPerProgram]heldSlot               // owned by the control loop
	lost    atomic.Int64                            // of those taken, for good
}

// heldSlot is what the control loop saw of a slot: since when it is in the same use.
type heldSlot struct {
	use   uint64
	since int64
}

// cpuSlots belongs to the program, not to what Start made: threads locked before
// a restart are still locked after it.
var cpuSlots = newSlotTable()

func newSlotTable() *slotTable {
	t := new(slotTable)
	for i := range t.details {
		t.details[i].slot = i
	}
	return t
}

func (t *slotTable) held() int {
	n := 0
	for i := range t.taken {
		n += bits.OnesCount64(t.taken[i].Load())
	}
	return n
}

// slotLoad is how busy the slots were when a call began, in slots of a program that
// may have all. One place of a method's share counts like its part of all.
type slotLoad uint8

func (t *slotTable) load(m *Method, b *slotBounds) slotLoad {
	busy := max(t.held(), int(m.cpuHeld.Load())*methodShare)
	return slotLoad(min(busy*b.weight, slotsPerProgram))
}

// share returns the chance that a timed call has its CPU timed. It falls as locked
// threads become many, so that the limits are seldom met: a refusal after the draw
// would be biased, because slow calls hold their slots longer.
func (l slotLoad) share(rate float64) float64 {
	if l == 0 {
		return rate
	}
	x := float64(l) / (slotsPerProgram / 2)
	return rate * max(0.02, 1-x*x)
}

// takeSlot returns a free slot or noSlot. Slots that a previous engine took while the
// program might have more threads do not count among those of this one.
func (e *engine) takeSlot(m *Method) int {
	if !e.threadClock || m.strayed.Load() {
		return noSlot
	}
	if m.cpuHeld.Add(1) > e.slots.perMethod {
		m.cpuHeld.Add(-1)
		e.counters.slotRefusals.Add(1)
		return noSlot
	}
	for w := range cpuSlots.taken[:e.slots.words] {
		word := &cpuSlots.taken[w]
		for taken := word.Load(); taken&e.slots.mask != e.slots.mask; taken = word.Load() {
			bit := bits.TrailingZeros64(^taken)
			if word.CompareAndSwap(taken, taken|1<<bit) {
				slot := w*64 + bit
				if at := &cpuSlots.method[slot]; at.Load() != m {
					at.Store(m)
				}
				return slot
			}
		}
	}
	m.cpuHeld.Add(-1)
	e.counters.slotRefusals.Add(1)
	return noSlot
}

func (t *slotTable) release(slot int, m *Method) {
	t.taken[slot/64].And(^(uint64(1) << (slot % 64)))
	m.cpuHeld.Add(-1)
}

// lose leaves a slot of the method taken for good: its call ended on another
// goroutine, and the thread stays locked to the first while that lives, which cannot be
// noticed. The method gets no further slot.
func (t *slotTable) lose(m *Method) {
	m.strayed.Store(true)
	t.lost.Add(1)
}

// strays calls f for every method that has lost a slot.
func (t *slotTable) strays(f func(*Method)) {
	if t.lost.Load() == 0 {
		return
	}
	for slot := range t.method {
		if m := t.method[slot].Load(); m != nil && m.strayed.Load() {
			f(m)
		}
	}
}

// patience calls f for every method that has held a slot too long. It is called once a
// tick, by one goroutine: a use of a slot that is still the same is held at least since
// it was seen first.
func (t *slotTable) patience(now int64, f func(*Method)) {
	for slot := range t.details {
		use := t.details[slot].use.Load()
		seen := &t.seen[slot]
		if use%2 == 0 || use != seen.use {
			*seen = heldSlot{use: use, since: now}
		} else if now-seen.since >= int64(slotPatience)*9/10 { // ticks are not exact
			f(t.method[slot].Load())
		}
	}
}
