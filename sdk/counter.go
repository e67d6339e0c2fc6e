package corehour

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// callCounter counts calls, and says from which count on a call leaves the fast path.
//
// What it says of the next call is that of one plan. Calls that have another one leave the fast path,
// and the later plan takes the counter over, once: so a counter's plan only gets younger.
type callCounter struct {
	n    atomic.Int64
	next atomic.Int64 // the count from which a call leaves the fast path
	plan atomic.Pointer[plan]
}

// shard is a counter with a cache line to itself: two goroutines that count on one line take five
// times as long.
type shard struct {
	callCounter
	_ [cacheLine - unsafe.Sizeof(callCounter{})]byte
}

const cacheLine = 64

// counter returns the method's counter for a stack, and its number among its shards. Goroutines seldom
// share one, as it depends on where their stacks lie. A goroutine whose stack moves only changes the
// counter. Methods have different ones for a stack: equal ones of arrays that lie a power of two apart
// share a few sets of the processor's caches.
func (m *Method) counter(stack uintptr) (*callCounter, uint) {
	i := (shardOf(stack) ^ uint(uintptr(unsafe.Pointer(m))>>7)) & uint(m.mask.Load())
	return (*callCounter)(unsafe.Add(unsafe.Pointer(m.counters.Load()), uintptr(i)*cacheLine)), i
}

func shardOf(stack uintptr) uint {
	const goldenRatio = 0x9E3779B97F4A7C15
	return uint(uint64(stack>>11) * goldenRatio >> 40)
}

// changing is the plan of counters that are being taken over. No plan is later.
var changing = &plan{number: math.MaxInt64}

// releasePlan leaves the counter to any plan, unless one is just taking it over.
func (c *callCounter) releasePlan() {
	if pl := c.plan.Load(); pl != changing {
		c.plan.CompareAndSwap(pl, nil)
	}
}

// takeOver makes the counter that of a plan, unless a later one has it already, or is just taking it.
// Until a call has found the mark of the plan, all leave the fast path: next is a negative number
// that no other plan uses, so that a call of the plan before replaces nothing of this one.
func (c *callCounter) takeOver(pl *plan) {
	old := c.plan.Load()
	if old != nil && old.number >= pl.number || !c.plan.CompareAndSwap(old, changing) {
		return
	}
	c.next.Store(-pl.number)
	c.plan.Store(pl)
}
