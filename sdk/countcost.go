package corehour

import "math"

// A call that is only counted costs a few nanoseconds in a loop, and several times that between other
// work, which has pushed what it reads out of the processor's caches. It is too short to be timed as it
// is. But of the two cache lines that it reads, that of its method and that of its counter, the second
// can be: now and then the next call of a busy method finds a counter that sends it here. The first is
// as far away, since the same calls read it. It is not the call after one that was timed, whose system
// calls have pushed out more, but one that follows some calls later; and not one after a while, since
// that would be the first of many in a row.

// timing is the plan of counters that send a call to timeCount. No plan is later.
var timing = &plan{number: math.MaxInt64}

// timingCounters take the place of a method's shards for a call.
var timingCounters = func() *[maxShards]shard {
	var counters [maxShards]shard
	for i := range counters {
		counters[i].plan.Store(timing)
	}
	return &counters
}()

// longestCount is the longest time in ns that is taken for that of two reads of memory: where it was
// longer the processor was taken away.
const longestCount = 1000

// undisturbed is how many calls after a timed one the counting of a call is measured.
const undisturbed = 16

// timeNextCount has the next call of a busy method timed as it is counted.
func (m *Method) timeNextCount() {
	if m.shards.Load() != nil {
		m.counters.Store(&timingCounters[0].callCounter)
	}
}

// timeCount counts a call on the counter that it would have found, and measures how much longer that
// takes than to do it again. Before, it does so on one of its own, which brings the code into the caches.
func (pl *plan) timeCount(i uint) (c *callCounter, n, next int64) {
	shards := *pl.method.shards.Load()
	pl.method.counters.Store(&shards[0].callCounter)
	c = &shards[i].callCounter
	timingCounters[i].timed(0)
	n, next, owner, first := c.timed(1)
	_, _, _, again := c.timed(0)
	if longer := first - again; longer >= -longestCount && longer <= longestCount {
		engineOf(pl).probe.outOfCache.addAny(longer)
	}
	if owner != pl {
		next = notOurs
	}
	return c, n, next
}

// timed counts calls as begin does, and returns how long that took. It has no branches, which the
// processor would expect to be as the last time.
//
//go:noinline
func (c *callCounter) timed(calls int64) (n, next int64, owner *plan, took int64) {
	start := now()
	owner, next = c.plan.Load(), c.next.Load()
	n = c.n.Add(calls)
	took = now() - start
	if c.plan.Load() != owner {
		owner = nil
	}
	return n, next, owner, took
}
