package corehour

import "math"

// A counted call costs a few nanoseconds in a loop. Between other work it costs several times that,
// because its two cache lines (method and counter) were evicted. Such a call is too short to time
// directly. The load of the counter's line can be timed: now and then the next call of a busy method
// finds a special counter that sends it here. The method's line is assumed to take as long, since the
// same calls read it. The measured call is not the first after a timed one, whose system calls evict
// more lines, and not the first after a pause, which would start many calls in a row.

// timing is the plan of counters that send a call to timeCount. Its number is above that of any plan.
var timing = &plan{number: math.MaxInt64}

// timingCounters replace a method's shards for one call.
var timingCounters = func() *[maxShards]shard {
	var counters [maxShards]shard
	for i := range counters {
		counters[i].plan.Store(timing)
	}
	return &counters
}()

// longestCount is the longest plausible time of two memory reads in ns. A longer time means that
// the processor was taken away.
const longestCount = 1000

// undisturbed is the number of calls between a timed one and the measurement of a counted one.
const undisturbed = 16

// timeNextCount arranges that the counting of the method's next call is timed, if the method is busy.
func (m *Method) timeNextCount() {
	if m.shards.Load() != nil {
		m.counters.Store(&timingCounters[0].callCounter)
	}
}

// timeCount counts a call on its regular counter, and measures how much longer that takes than
// repeating it. It first counts on a counter of its own, to bring the code into the caches.
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

// timed counts calls as begin does, and returns the time that took. It has no branches, because the
// processor would predict them from the last call.
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
