package corehour

import (
	"runtime"
	"slices"

	"github.com/corehour/corehour/sdk/internal/hostclock"
)

const (
	warmingRounds     = 12 // until tables, caches and predictions are as they will be
	calibrationRounds = 7
	calibrationCalls  = 64
	calibrationDepth  = 10 // frames, since a look at the stack costs by depth
)

// calibrate measures what one timed call costs in CPU, by the wall alone and with
// CPU. A timed call inside another is charged to it: whoever compares methods can
// take that out. Without a thread clock the wall has to do.
func (e *engine) calibrate() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	bench := &engine{config: e.config, threadClock: e.threadClock, ring: newRing(2), cells: newCellTable(1)}
	bench.batchMask = uint64(len(bench.ring.places) - 1)
	e.counters.wallCost.Store(bench.costOf(settings{rate: 1}))
	if e.threadClock {
		e.counters.cpuCost.Store(bench.costOf(settings{rate: 1, cpuRate: 1}))
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
	rounds := make([]int64, warmingRounds+calibrationRounds)
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
	rounds = rounds[warmingRounds:]
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
