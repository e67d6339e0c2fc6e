package corehour

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// callCounter counts calls, and holds the count at which the next call leaves the fast path.
//
// next belongs to one plan. Calls with another plan leave the fast path, and the later plan takes
// the counter over, once. So the plan of a counter is only ever replaced by a later one.
type callCounter struct {
	n    atomic.Int64
	next atomic.Int64 // the count from which a call leaves the fast path
	plan atomic.Pointer[plan]
}

// shard is a counter with its own cache line: two goroutines that count on one line take five times
// as long.
type shard struct {
	callCounter
	_ [cacheLine - unsafe.Sizeof(callCounter{})]byte
}

const cacheLine = 64

// counter returns the method's counter for a stack address, and its shard number. Goroutines seldom
// share a counter, because it depends on the address of their stack. A stack that moves merely
// changes the counter. The method's address is part of the hash: equal shards of arrays that are a
// power of two apart would compete for a few cache sets.
func (m *Method) counter(stack uintptr) (*callCounter, uint) {
	i := (shardOf(stack) ^ uint(uintptr(unsafe.Pointer(m))>>7)) & uint(m.mask.Load())
	return (*callCounter)(unsafe.Add(unsafe.Pointer(m.counters.Load()), uintptr(i)*cacheLine)), i
}

func shardOf(stack uintptr) uint {
	const goldenRatio = 0x9E3779B97F4A7C15
	return uint(uint64(stack>>11) * goldenRatio >> 40)
}

// changing is the plan of counters that are being taken over. Its number is above that of any plan.
var changing = &plan{number: math.MaxInt64}

// releasePlan frees the counter for any plan, unless one is taking it over right now.
func (c *callCounter) releasePlan() {
	if pl := c.plan.Load(); pl != changing {
		c.plan.CompareAndSwap(pl, nil)
	}
}

// takeOver assigns the counter to pl, unless a later plan has it or is taking it over. next becomes a
// negative number that no other plan uses. All calls leave the fast path until one of them finds that
// mark, so a call of the plan before cannot overwrite a value of this one.
func (c *callCounter) takeOver(pl *plan) {
	old := c.plan.Load()
	if old != nil && old.number >= pl.number || !c.plan.CompareAndSwap(old, changing) {
		return
	}
	c.next.Store(-pl.number)
	c.plan.Store(pl)
}
