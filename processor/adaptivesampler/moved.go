package adaptivesampler

import (
	"math"
	"sync/atomic"
	"time"
)

// mostPatience is how long a service that has moved here is waited for. An SDK
// reports once a minute or more often, and keeps its rates for leastTTL.
const mostPatience = 2 * time.Minute

// moved tells whether a version of a service came from another collector and has not
// reported since. What it keeps seldom is hardly met before that: a decision in
// between would take its busiest methods for unknown and begin anew with them.
type moved struct{ until atomic.Int64 }

const hasReported = math.MinInt64

// arrives begins to wait, unless the process has reported in the same batch.
func (m *moved) arrives(now time.Time) {
	m.until.CompareAndSwap(0, now.Add(mostPatience).UnixNano())
}

// reports ends it: the counts of all methods were met.
func (m *moved) reports() {
	if m.until.Load() != hasReported { // nothing is written for each batch of a service
		m.until.Store(hasReported)
	}
}

func (m *moved) waits(now time.Time) bool { return m.until.Load() > now.UnixNano() }
