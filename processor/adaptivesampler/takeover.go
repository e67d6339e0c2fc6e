package adaptivesampler

import (
	"math"
	"sync/atomic"
	"time"
)

// mostPatience is how long a takeover waits for the service. An SDK reports once a
// minute or more often, and keeps its rates for leastTTL.
const mostPatience = 2 * time.Minute

// takeover is the state of a version of a service that came from another collector and
// has not reported since. Methods that it samples seldom are hardly seen before that: a
// decision in between would treat its busiest methods as unknown.
type takeover struct{ until atomic.Int64 }

const hasReported = math.MinInt64

// begin begins to wait, unless the process has reported in the same batch.
func (m *takeover) begin(now time.Time) {
	m.until.CompareAndSwap(0, now.Add(mostPatience).UnixNano())
}

// reported ends it: the counts of all methods were met.
func (m *takeover) reported() {
	if m.until.Load() != hasReported { // nothing is written for each batch of a service
		m.until.Store(hasReported)
	}
}

func (m *takeover) pending(now time.Time) bool { return m.until.Load() > now.UnixNano() }
