package corehour

import (
	"math"
	"slices"
	"time"
)

const (
	// affordable is how many calls a second are timed of all methods whose rate is a default below 1: each
	// takes microseconds, and ten thousand some hundredths of a processor.
	affordable   = 10_000
	budgetTick   = 100 * time.Millisecond
	mostHalvings = 40
	// leastRate is the least that a method file may ask for.
	leastRate = 1e-9
)

// budget holds default rates within what is affordable. A rate that somebody chose for a method stays,
// and so does 1, which asks for every call.
type budget struct {
	at       int64   // of the last look at methods
	recorded int64   // until then
	others   float64 // records a second of methods that have rates of their own
}

// overspent reports whether more was recorded since the last look than is affordable.
func (b *budget) overspent(since, recorded int64) bool {
	return float64(recorded-b.recorded) > (affordable+b.others)*seconds(since)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// holdBudget halves the default rates of the methods that are called most until what all of them
// record is affordable, and doubles them when it has become less. It looks at methods once a
// second, and at once where too much is recorded.
func (e *engine) holdBudget(at int64) {
	recorded := e.ring.Accepted() + e.counters.dropped.Load()
	since := max(at-e.budget.at, int64(budgetTick)) // ticks that come late come close together
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
		if since >= int64(tick) { // a method may well be called seldom for a tenth of one
			halvings = max(min(m.halvings, halvingsOf(2*m.wanted/most)), halvingsOf(m.wanted/most))
		}
		if halvings != m.halvings {
			m.halvings = halvings
			e.updatePlan(m)
		}
	}
}

// fairShare is the most that one may have so that all have what is affordable at most.
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

// halvingsOf is how often a rate is halved to become a so many times smaller one.
func halvingsOf(times float64) int {
	if times <= 1 {
		return 0
	}
	return min(mostHalvings, int(math.Ceil(math.Log2(times))))
}
