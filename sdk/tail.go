package corehour

import "math"

// A method with a tail has every call timed by the wall, and keeps every one that
// lasts at least a threshold: rare long calls, which make up much of the cost, are
// then known one by one instead of by luck. The threshold is part of the plan, so
// it is fixed before the call; between intervals it follows what was seen, and any
// threshold is as unbiased as another. CPU is still timed for those chosen at their
// beginning only, so the share of a tail record's CPU is the rate times cpu_p.
const (
	tailShare = 1000 // one call in so many is meant to be kept
	tailMost  = 60   // per interval, if the last one was like this one
	// tailShape is the exponent of a power law between the lightest tails that
	// matter and the heaviest: the number of calls above x falls by x to its power.
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

// nextThreshold computes the threshold of the next interval from the last one: how many
// calls there were, how many were kept, and how long the longest of the others was.
func nextThreshold(threshold, calls, above, longest int64) int64 {
	if calls == 0 {
		return threshold
	}
	if threshold == never { // the first interval: none was kept
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

// followTail gives a method the threshold for the next interval. registry.mu is
// held.
func (e *engine) followTail(m *Method, calls int64) {
	pl := m.plan.Load()
	if pl == nil || !pl.tail {
		return
	}
	m.tailFrom = nextThreshold(pl.tailFrom, calls, pl.above.Swap(0), pl.longest.Swap(0))
	e.updatePlan(m)
}
