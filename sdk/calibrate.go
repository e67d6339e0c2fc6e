package corehour

import (
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/sdk/internal/ring"
)

const (
	calibrations      = 5 // at Start and after the first intervals
	calibrationRounds = 7
	calibrationCalls  = 64
	countedCalls      = 4096
	emptyCalls        = 4 * enoughMeasured // upper bound, because many can lose the processor
	calibrationDepth  = 10                 // frames: the cost of reading the stack grows with depth
)

// calibrate measures the CPU cost of one call in a loop: counted only, timed by the wall alone,
// and timed with CPU. Everything is slow in a program that has just started, so calibrate runs
// again after the first intervals, a millisecond each, and the lowest cost counts. Costs measured
// in place (see probeCosts) replace those of timed calls once there are enough. Without a thread
// clock it measures wall time.
func (e *engine) calibrate() {
	if e.threadClock {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	bench := &engine{config: e.config, threadClock: e.threadClock, slots: e.slots, walkable: e.walkable, ring: ring.New[record](2), cells: newCellTable(1)}
	bench.batchMask = uint64(len(bench.ring.Places) - 1)
	c := &e.probe
	keepLowest(&c.countedPS, bench.costOf(settings{}, countedCalls))
	keepLowest(&c.wall.inLoop, bench.costOf(settings{rate: 1}, calibrationCalls)/1000)
	if e.threadClock {
		keepLowest(&c.cpu.inLoop, bench.costOf(settings{rate: 1, cpuRate: 1}, calibrationCalls)/1000)
		keepLowest(&c.reading, leastReading())
	}
	for range emptyCalls {
		if c.inside.n.Load() >= enoughMeasured {
			break
		}
		c.empty.method.Begin().End()
	}
}

// leastReading returns the excess of CPU over wall time that the clocks show for an empty call.
// It is the minimum of many tries: every reading contains at least that much, so subtracting it
// removes nothing else.
func leastReading() int64 {
	least := int64(math.MaxInt64)
	for range calibrationRounds * calibrationCalls {
		first := hostclock.ThreadCPU()
		start := now()
		wall := now() - start
		least = min(least, hostclock.ThreadCPU()-first-wall)
	}
	return max(0, least)
}

func keepLowest(lowest *atomic.Int64, cost int64) {
	if old := lowest.Load(); old == 0 || cost < old {
		lowest.Store(cost)
	}
}

// costOf returns the cost of a call in ps.
func (e *engine) costOf(s settings, calls int64) int64 {
	m := calibrationMethod()
	m.plan.Store(newPlan(e, m, s))
	clock := now
	if e.threadClock {
		clock = hostclock.ThreadCPU
	}
	rounds := make([]int64, calibrationRounds)
	var one [1]record
	for i := range rounds {
		start := clock()
		descend(calibrationDepth, func() {
			for range calls {
				m.Begin().End()
				if s.rate > 0 {
					e.ring.Dequeue(one[:0], 1)
				}
			}
		})
		rounds[i] = (clock() - start) * 1000 / calls
	}
	m.plan.Store(nil)
	slices.Sort(rounds)
	return rounds[len(rounds)/2]
}

func calibrationMethod() *Method {
	m := &Method{name: "(calibration)"}
	m.owner.Name, m.owner.On = m.name, m.on
	m.counters.Store(&m.first)
	return m
}

//go:noinline
func descend(depth int, f func()) {
	if depth == 0 {
		f()
		return
	}
	descend(depth-1, f)
}
