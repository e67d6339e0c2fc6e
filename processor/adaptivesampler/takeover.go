package adaptivesampler

import (
	"math"
	"sync/atomic"
	"time"
)

// mostPatience is the maximum time that a takeover waits for a report of the service. An SDK reports at least once
// a minute, and keeps its rates for leastTTL.
const mostPatience = 2 * time.Minute

// takeover is the state of a service version that came from another collector and has not reported since. Before
// the report, methods with a low sampling rate are hardly seen. A decision at that time would treat the busiest
// methods as unknown.
type takeover struct{ until atomic.Int64 }

const hasReported = math.MinInt64

// begin starts to wait, unless the process has already reported or a wait has begun.
func (m *takeover) begin(now time.Time) {
	m.until.CompareAndSwap(0, now.Add(mostPatience).UnixNano())
}

// reported ends the takeover: the counts of all methods have arrived.
func (m *takeover) reported() {
	if m.until.Load() != hasReported { // avoids a write for each batch of a service
		m.until.Store(hasReported)
	}
}

func (m *takeover) pending(now time.Time) bool { return m.until.Load() > now.UnixNano() }
