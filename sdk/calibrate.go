package corehour

import (
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/corehour/corehour/sdk/internal/hostclock"
)

const (
	calibrations      = 5 // at Start and after the first intervals
	calibrationRounds = 7
	calibrationCalls  = 64
	calibrationDepth  = 10 // frames, since a look at the stack costs by depth
)

// calibrate measures what one timed call costs in CPU, by the wall alone and with
// CPU. A timed call inside another is charged to it: whoever compares methods can
// take that out. In a program that has just begun everything is slow, so it is done
// again after the first intervals, a millisecond each, and the lowest cost holds.
// Without a thread clock the wall has to do.
func (e *engine) calibrate() {
	if e.threadClock {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	bench := &engine{config: e.config, threadClock: e.threadClock, slots: e.slots, walkable: e.walkable, ring: newRing(2), cells: newCellTable(1)}
	bench.batchMask = uint64(len(bench.ring.places) - 1)
	keepLowest(&e.counters.wallCost, bench.costOf(settings{rate: 1}))
	if e.threadClock {
		keepLowest(&e.counters.cpuCost, bench.costOf(settings{rate: 1, cpuRate: 1}))
		cpu, wall := leastReading()
		keepLowest(&e.counters.reading, cpu)
		keepLowest(&e.counters.readingWall, wall)
	}
}

// leastReading is what the clocks show of a call that does nothing: a part of
// reading them lies between the readings and would be taken for the method's. The
// least of many is in every reading, so that nothing else is ever taken off. Of the
// wall it is what two readings of the CPU add, so that calls are as long whether
// their CPU is timed or not: the least with them less the least without. The least
// of the differences would be far too little, or nothing, where the processor is
// taken away just once between two plain readings.
func leastReading() (cpu, wall int64) {
	with, without := int64(math.MaxInt64), int64(math.MaxInt64)
	cpu = math.MaxInt64
	for range calibrationRounds * calibrationCalls {
		start := now()
		first := hostclock.ThreadCPU()
		last := hostclock.ThreadCPU()
		end := now()
		cpu = min(cpu, last-first)
		with, without = min(with, end-start), min(without, now()-end)
	}
	return max(0, cpu), max(0, with-without)
}

func keepLowest(lowest *atomic.Int64, cost int64) {
	if old := lowest.Load(); old == 0 || cost < old {
		lowest.Store(cost)
	}
}

func (e *engine) costOf(s settings) int64 {
	m := &Method{name: "(calibration)", normal: "(calibration)"}
	counters := m.first[:]
	m.calls.Store(&counters)
	m.plan.Store(newPlan(e, m, s))
	clock := now
	if e.threadClock {
		clock = hostclock.ThreadCPU
	}
	rounds := make([]int64, calibrationRounds)
	for i := range rounds {
		start := clock()
		descend(calibrationDepth, func() {
			for range calibrationCalls {
				m.Begin().End()
				e.ring.drop()
			}
		})
		rounds[i] = (clock() - start) / calibrationCalls
	}
	m.plan.Store(nil)
	slices.Sort(rounds)
	return rounds[len(rounds)/2]
}

//go:noinline
func descend(depth int, f func()) {
	if depth == 0 {
		f()
		return
	}
	descend(depth-1, f)
}
