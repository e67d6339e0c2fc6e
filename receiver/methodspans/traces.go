package methodspans

import (
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const (
	// maxTraces is how many traces of one generation are remembered; there are two.
	maxTraces = 1 << 17
	// tracesFor is how long a trace is remembered, at least, if there is room.
	tracesFor = 15 * time.Second
)

// traces remembers the traces of the last seconds, and of those whose root says it the
// probability that they were kept with: spans that another process sends follow their root.
type traces struct {
	mu                sync.Mutex
	began             time.Time // of the current generation
	current, previous map[pcommon.TraceID]float64
}

func newTraces() *traces { return &traces{current: make(map[pcommon.TraceID]float64)} }

// probability returns what is remembered of a trace, 0 if its root did not say. From then on the
// trace is remembered, with p unless that is 0.
func (t *traces) probability(id pcommon.TraceID, p float64, now time.Time, counts *tally) (known float64, isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if full := len(t.current) >= maxTraces; full || now.Sub(t.began) >= tracesFor {
		if full && now.Sub(t.began) < tracesFor {
			counts.overflow[tableTraces] += int64(len(t.previous))
		}
		t.previous, t.current, t.began = t.current, make(map[pcommon.TraceID]float64), now
	}
	known, seen := t.current[id]
	if !seen {
		known, seen = t.previous[id]
	}
	if p != 0 {
		known = p
	}
	t.current[id] = known
	return known, !seen
}

func (t *traces) size() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int64(len(t.current) + len(t.previous))
}
