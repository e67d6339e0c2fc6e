package corehour

import "sync/atomic"

// ring is the queue between the program's goroutines and the exporter: made once,
// never overwritten, never waited for. Many put, one takes. (Vyukov's bounded
// queue: the sequence number of a place says whose turn it is.)
type ring struct {
	places []place
	tail   atomic.Uint64
	_      [56]byte
	head   atomic.Uint64 // written by the one that takes
	_      [56]byte
}

type place struct {
	turn atomic.Uint64
	record
}

// newRing makes a ring; size is a power of two.
func newRing(size int) *ring {
	r := &ring{places: make([]place, size)}
	for i := range r.places {
		r.places[i].turn.Store(uint64(i))
	}
	return r
}

// put offers a record. It returns its number, or false when the ring is full.
func (r *ring) put(rec *record) (uint64, bool) {
	at := r.tail.Load()
	for {
		p := &r.places[at&uint64(len(r.places)-1)]
		switch ahead := int64(p.turn.Load() - at); {
		case ahead < 0:
			return 0, false
		case ahead == 0 && r.tail.CompareAndSwap(at, at+1):
			p.record = *rec
			p.turn.Store(at + 1)
			return at, true
		}
		at = r.tail.Load()
	}
}

// take appends up to limit records to batch.
func (r *ring) take(batch []record, limit int) []record {
	at := r.head.Load()
	for range limit {
		p := &r.places[at&uint64(len(r.places)-1)]
		if p.turn.Load() != at+1 {
			break
		}
		batch = append(batch, p.record)
		p.record = record{}
		p.turn.Store(at + uint64(len(r.places)))
		at++
	}
	r.head.Store(at)
	return batch
}

// drop takes a record and forgets it.
func (r *ring) drop() {
	var one [1]record
	r.take(one[:0], 1)
}

func (r *ring) length() int { return int(r.tail.Load() - r.head.Load()) }

// accepted is how many records the ring has taken in all its life.
func (r *ring) accepted() int64 { return int64(r.tail.Load()) }
