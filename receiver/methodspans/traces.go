package methodspans

import (
	"encoding/binary"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const (
	// maxTraces bounds the remembered traces of each of the two generations.
	maxTraces = 1 << 17
	// tracesFor is the minimum time for which a trace is remembered, if there is room.
	tracesFor = 15 * time.Second
)

// traces remembers the traces of the last seconds and the sampling probabilities of their roots,
// which hold for the spans that other processes send.
type traces struct {
	mu                sync.Mutex
	began             time.Time // of the current generation
	current, previous map[uint64]float64
}

func newTraces() *traces {
	return &traces{current: make(map[uint64]float64), previous: make(map[uint64]float64)}
}

// keyOf hashes a trace id, of which either half can be random. One trace in 10^13 has the key
// of another remembered one.
func keyOf(id pcommon.TraceID) uint64 {
	return binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:])
}

// probability returns the remembered probability of a trace, 0 if none is known, and remembers
// the trace, with p unless that is 0. The caller must hold mu.
func (t *traces) probability(id pcommon.TraceID, p float64, now time.Time, counts *requestCounts) (known float64, isNew bool) {
	key := keyOf(id)
	if full := len(t.current) >= maxTraces; full || now.Sub(t.began) >= tracesFor {
		if full && now.Sub(t.began) < tracesFor {
			counts.overflow[tableTraces] += int64(len(t.previous))
		}
		t.previous, t.current, t.began = t.current, t.previous, now
		clear(t.current) // it keeps its capacity
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
