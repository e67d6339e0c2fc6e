// Package cpuslots bounds how many calls have their CPU timed at the same time. Such a call
// holds its thread, and a thread that waits is lost to the others: most of the threads that
// the program may have are left to it. It locks no thread itself.
package cpuslots

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	None         = -1 // no slot
	Most         = 128
	least        = 8 // with fewer no CPU is timed
	perSlot      = 8 // threads that the program may have
	LeastThreads = least * perSlot
	methodShare  = 8 // a method may hold an eighth of them
	// Patience is how long a call may hold a slot before its method is taken
	// for one that waits.
	Patience = time.Second
)

// Bounds are those of an engine.
type Bounds struct {
	all       int
	PerMethod int32
	words     int    // of the table, with slots that may be taken
	mask      uint64 // of these in each word
	weight    int    // of a slot, in slots of a program that may have all
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

// Within returns how many slots there are in a program that may have so many threads.
func Within(threads int) int {
	n := min(threads/perSlot, Most)
	if n < least {
		return 0
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

// Holder is what a method has of slots.
type Holder struct {
	Held    atomic.Int32 // now, or lost
	Strayed atomic.Bool  // a call ended on another goroutine: the method gets no slot any more
}

// Table is the slots of a program, for methods of type M.
type Table[M any] struct {
	taken [Most / 64]atomic.Uint64
	owner [Most]atomic.Pointer[M] // that has or had the slot
	seen  [Most]struct {          // by Impatient: since when a slot is in the same use
		use   uint64
		since int64
	}
	Lost atomic.Int64 // of those taken, for good
}

// Held returns how many slots are held or lost.
func (t *Table[M]) Held() int {
	n := 0
	for i := range t.taken {
		n += bits.OnesCount64(t.taken[i].Load())
	}
	return n
}

// Load is how busy the slots were when a call began, in slots of a program that
// may have all. One place of a method's share counts like its part of all.
type Load uint8

// Load returns the load for a call of the method.
func (t *Table[M]) Load(h *Holder, b *Bounds) Load {
	busy := max(t.Held(), int(h.Held.Load())*methodShare)
	return Load(min(busy*b.weight, Most))
}

// Share returns the chance that a timed call has its CPU timed. It falls as locked
// threads become many, so that the limits are seldom met: a refusal after the draw
// would be biased, because slow calls hold their slots longer.
func (l Load) Share(rate float64) float64 {
	if l == 0 {
		return rate
	}
	x := float64(l) / (Most / 2)
	return rate * max(0.02, 1-x*x)
}

// Take returns a free slot, or None. Slots that a previous engine took while the program
// might have more threads do not count among those of this one.
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

// Release gives a slot of the method back.
func (t *Table[M]) Release(slot int, h *Holder) {
	t.taken[slot/64].And(^(uint64(1) << (slot % 64)))
	h.Held.Add(-1)
}

// Lose leaves a slot of the method taken for good: its call ended on another
// goroutine, and the thread stays locked to the first while that lives, which cannot be
// noticed. The method gets no further slot.
func (t *Table[M]) Lose(h *Holder) {
	h.Strayed.Store(true)
	t.Lost.Add(1)
}

// Owners calls f for every method that has or had a slot, once any is lost.
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

// Impatient calls f for every method that has held a slot too long. It is called once a
// tick, by one goroutine: a use of a slot that is still the same, and odd as it is while a
// call has it, is held at least since it was seen first.
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
