// Package cpuslots bounds the number of calls with timed CPU at the same time. Such a call holds its
// thread, and a waiting thread is lost to other calls, so most of the program's threads are left to
// the program. The package locks no thread itself.
package cpuslots

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	None         = -1 // no slot
	Most         = 128
	least        = 8 // with fewer slots no CPU is timed
	perSlot      = 8 // threads of the program per slot
	LeastThreads = least * perSlot
	methodShare  = 8 // one method can hold an eighth of the slots
	// Patience is the time for which a call can hold a slot before its method counts as waiting.
	Patience = time.Second
)

// Bounds are the limits of an engine.
type Bounds struct {
	all       int
	PerMethod int32
	words     int    // words of the table with usable slots
	mask      uint64 // usable slots in each word
	weight    int    // weight of a slot, relative to a program that can use all slots
}

// Of returns the bounds for a number of slots that is 0 or a power of two.
func Of(n int) Bounds {
	b := Bounds{all: n, PerMethod: int32(n / methodShare), words: (n + 63) / 64, mask: ^uint64(0)}
	if n < 64 {
		b.mask = 1<<n - 1
	}
	if n > 0 {
		b.weight = Most / n
	}
	return b
}

// Within returns the number of slots of a program with the given maximum of threads.
func Within(threads int) int {
	n := min(threads/perSlot, Most)
	if n < least {
		return 0
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

// Holder holds a method's share of the slots.
type Holder struct {
	Held    atomic.Int32 // slots held now, including lost ones
	Strayed atomic.Bool  // a call ended on another goroutine: the method gets no slot from then on
}

// Table holds the slots of a program, for methods of type M.
type Table[M any] struct {
	taken [Most / 64]atomic.Uint64
	owner [Most]atomic.Pointer[M] // current or last owner of a slot
	seen  [Most]struct {          // for Impatient: the use count of a slot, and when it was first seen
		use   uint64
		since int64
	}
	Lost atomic.Int64 // held slots that are lost for good
}

// Held returns the number of slots that are held or lost.
func (t *Table[M]) Held() int {
	n := 0
	for i := range t.taken {
		n += bits.OnesCount64(t.taken[i].Load())
	}
	return n
}

// Load is the number of busy slots when a call began, scaled to a program that can use all slots. One
// place of a method's share counts as the same fraction of all slots.
type Load uint8

// Load returns the load for a call of the method.
func (t *Table[M]) Load(h *Holder, b *Bounds) Load {
	busy := max(t.Held(), int(h.Held.Load())*methodShare)
	return Load(min(busy*b.weight, Most))
}

// Share returns the probability that a timed call has its CPU timed. It falls as more threads are
// locked, so that the limits are seldom reached: a refusal after the draw would be biased, because
// slow calls hold their slots longer.
func (l Load) Share(rate float64) float64 {
	if l == 0 {
		return rate
	}
	x := float64(l) / (Most / 2)
	return rate * max(0.02, 1-x*x)
}

// Take returns a free slot, or None. Slots of a previous engine with other bounds do not count among
// the slots of this one.
func (t *Table[M]) Take(m *M, h *Holder, b *Bounds, refusals *atomic.Int64) int {
	if b.all == 0 || h.Strayed.Load() {
		return None
	}
	if h.Held.Add(1) <= b.PerMethod {
		for w := range t.taken[:b.words] {
			word := &t.taken[w]
			for taken := word.Load(); taken&b.mask != b.mask; taken = word.Load() {
				bit := bits.TrailingZeros64(^taken)
				if word.CompareAndSwap(taken, taken|1<<bit) {
					slot := w*64 + bit
					if at := &t.owner[slot]; at.Load() != m {
						at.Store(m)
					}
					return slot
				}
			}
		}
	}
	h.Held.Add(-1)
	refusals.Add(1)
	return None
}

// Release returns a slot of the method.
func (t *Table[M]) Release(slot int, h *Holder) {
	t.taken[slot/64].And(^(uint64(1) << (slot % 64)))
	h.Held.Add(-1)
}

// Lose marks a slot of the method as lost for good: its call ended on another goroutine, and the thread
// stays locked to the first one while that lives, which cannot be observed. The method gets no further
// slot.
func (t *Table[M]) Lose(h *Holder) {
	h.Strayed.Store(true)
	t.Lost.Add(1)
}

// Owners calls f for every current or last owner of a slot, once any slot is lost.
func (t *Table[M]) Owners(f func(*M)) {
	if t.Lost.Load() == 0 {
		return
	}
	for slot := range t.owner {
		if m := t.owner[slot].Load(); m != nil {
			f(m)
		}
	}
}

// Impatient calls f for every method that has held a slot too long. One goroutine calls it once a tick.
// A use count that is unchanged, and odd as it is during a call, shows that the slot has been held at
// least since it was first seen.
func (t *Table[M]) Impatient(now int64, useOf func(slot int) uint64, f func(*M)) {
	for slot := range t.seen {
		use := useOf(slot)
		seen := &t.seen[slot]
		if use%2 == 0 || use != seen.use {
			seen.use, seen.since = use, now
		} else if now-seen.since >= int64(Patience)*9/10 { // ticks are not exact
			f(t.owner[slot].Load())
		}
	}
}
