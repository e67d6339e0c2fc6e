package corehour

import "math"

// Every call of a method with a tail is timed by the wall, and every call that lasts at least a
// threshold is kept. Rare long calls, which make up much of the cost, are then all known. The threshold
// is part of the plan, so it is fixed before the call. It is adjusted between intervals, and any
// threshold is unbiased. CPU is timed only for calls chosen at their start, so the CPU share of a tail
// record is the rate times cpu_p.
const (
	tailShare = 1000 // one call in so many should be kept
	tailMost  = 60   // per interval, if it resembles the last one
	// tailShape is the exponent of a power law between the lightest relevant tails and the
	// heaviest: the number of calls above x falls as x to its power.
	tailShape = 1.5
)

// keepTail decides on a finished call of a method with a tail.
func (pl *plan) keepTail(r *record, chosen bool) bool {
	if r.wall >= pl.tailFrom {
		r.tail = true
		pl.above.Add(1)
		return true
	}
	for longest := pl.longest.Load(); r.wall > longest; longest = pl.longest.Load() {
		if pl.longest.CompareAndSwap(longest, r.wall) {
			break
		}
	}
	return chosen
}

// nextThreshold computes the threshold of the next interval from the last one: its calls, its kept
// calls (above), and the longest of the others.
func nextThreshold(threshold, calls, above, longest int64) int64 {
	if calls == 0 {
		return threshold
	}
	if threshold == never { // the first interval: no call was kept
		if longest == 0 {
			return never
		}
		return longest
	}
	wanted := float64(min(max(calls/tailShare, 1), tailMost))
	ratio := float64(above) / wanted
	factor := 1.0
	switch {
	case ratio > 2:
		factor = min(4, math.Pow(ratio, 1/tailShape))
	case ratio < 0.5:
		factor = max(0.5, math.Pow(max(ratio, 0.1), 1/tailShape))
	}
	next := float64(threshold) * factor
	if next >= never {
		return never
	}
	return max(1, int64(next))
}

// followTail sets the method's threshold for the next interval. registry.mu is held.
func (e *engine) followTail(m *Method, calls int64) {
	pl := m.plan.Load()
	if pl == nil || !pl.tail {
		return
	}
	m.tailFrom = nextThreshold(pl.tailFrom, calls, pl.above.Swap(0), pl.longest.Swap(0))
	e.updatePlan(m)
}
