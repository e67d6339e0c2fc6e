package methodspans

import (
	"encoding/binary"
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
	current, previous map[uint64]float64
}

func newTraces() *traces {
	return &traces{current: make(map[uint64]float64), previous: make(map[uint64]float64)}
}

// keyOf hashes a trace id, whose halves may be random or not. One trace in 10^13 has the key of
// another one that is remembered.
func keyOf(id pcommon.TraceID) uint64 {
	return binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:])
}

// probability returns what is remembered of a trace, 0 if its root did not say. From then on the
// trace is remembered, with p unless that is 0. The table is locked.
func (t *traces) probability(id pcommon.TraceID, p float64, now time.Time, counts *requestCounts) (known float64, isNew bool) {
	key := keyOf(id)
	if full := len(t.current) >= maxTraces; full || now.Sub(t.began) >= tracesFor {
		if full && now.Sub(t.began) < tracesFor {
			counts.overflow[tableTraces] += int64(len(t.previous))
		}
		t.previous, t.current, t.began = t.current, t.previous, now
		clear(t.current) // it has the room that it will need
	}
	known, seen := t.current[key]
	if seen && (p == 0 || p == known) {
		return known, false
	}
	if !seen {
		known, seen = t.previous[key]
	}
	if p != 0 {
		known = p
	}
	t.current[key] = known
	return known, !seen
}

func (t *traces) size() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int64(len(t.current) + len(t.previous))
}
