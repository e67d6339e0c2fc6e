package corehour

import (
	"math"
	"slices"
	"time"
)

const (
	// affordable is the maximum of timed calls a second, over all methods whose rate is a default
	// below 1. A timed call takes microseconds, so ten thousand take some hundredths of a processor.
	affordable   = 10_000
	budgetTick   = 100 * time.Millisecond
	mostHalvings = 40
	// leastRate is the lowest rate that a method file can set.
	leastRate = 1e-9
)

// budget keeps the records of default rates affordable. It changes neither a rate that somebody
// chose for a method nor the rate 1, which asks for every call.
type budget struct {
	at       int64   // time of the last evaluation
	recorded int64   // records at that time
	others   float64 // records a second of methods that have rates of their own
}

// overspent reports whether the records since the last evaluation exceed the affordable number.
func (b *budget) overspent(since, recorded int64) bool {
	return float64(recorded-b.recorded) > (affordable+b.others)*seconds(since)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// holdBudget halves the default rates of the busiest methods until their records are affordable,
// and doubles the rates when there are fewer records. It evaluates the methods once a second, and
// at once if there are too many records.
func (e *engine) holdBudget(at int64) {
	recorded := e.ring.Accepted() + e.counters.dropped.Load()
	since := max(at-e.budget.at, int64(budgetTick)) // after a late tick the next one follows at once
	if since < int64(tick) && !e.budget.overspent(since, recorded) {
		return
	}
	e.budget = budget{at: at, recorded: recorded}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	var wanted []float64 // records a second
	for _, m := range registry.ordered {
		calls := m.Calls()
		m.wanted = float64(calls-m.budgeted) / seconds(since)
		m.budgeted = calls
		pl := m.plan.Load()
		switch {
		case pl == nil || pl.mode != Sample:
			m.wanted = 0
		case pl.asked == 0:
			e.budget.others += m.wanted * pl.rate
			m.wanted = 0
		default:
			m.wanted *= pl.asked
			wanted = append(wanted, m.wanted)
		}
	}
	most := fairShare(wanted)
	for _, m := range registry.ordered {
		halvings := max(m.halvings, halvingsOf(m.wanted/most))
		if since >= int64(tick) { // a tenth of a tick is too short to raise a rate again
			halvings = max(min(m.halvings, halvingsOf(2*m.wanted/most)), halvingsOf(m.wanted/most))
		}
		if halvings != m.halvings {
			m.halvings = halvings
			e.updatePlan(m)
		}
	}
}

// fairShare returns the max-min fair share: the limit per method at which all methods together
// use at most the affordable number.
func fairShare(wanted []float64) float64 {
	slices.Sort(wanted)
	left := float64(affordable)
	for i, w := range wanted {
		share := left / float64(len(wanted)-i)
		if w > share {
			return share
		}
		left -= w
	}
	return math.Inf(1)
}

// halvingsOf returns how often a rate must be halved to become the given number of times smaller.
func halvingsOf(times float64) int {
	if times <= 1 {
		return 0
	}
	return min(mostHalvings, int(math.Ceil(math.Log2(times))))
}
