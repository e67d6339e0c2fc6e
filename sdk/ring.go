package corehour

import (
	"sync"
	"sync/atomic"

	"github.com/corehour/corehour/sdk/internal/processor"
)

// ring is the queue between the program's goroutines and the exporter: made once,
// never overwritten, never waited for. Many producers, one consumer at a time. (Vyukov's
// bounded queue: the sequence number of a place says whose turn it is.)
type ring struct {
	places []place
	mask   uint64
	tail   atomic.Uint64
	_      [56]byte
	head   atomic.Uint64 // written by the one that takes
	_      [56]byte
	taking sync.Mutex // one at a time
}

type place struct {
	turn atomic.Uint64
	record
}

// newRing makes a ring; size is a power of two.
func newRing(size int) *ring {
	r := &ring{places: make([]place, size), mask: uint64(size - 1)}
	for i := range r.places {
		r.places[i].turn.Store(uint64(i))
	}
	return r
}

// claim returns a place, or nil when the ring is full. The caller fills the place, which
// is empty before, and publishes it.
func (r *ring) claim() (*place, uint64) {
	for {
		at := r.tail.Load()
		p := &r.places[at&r.mask]
		turn := p.turn.Load()
		if turn == at && r.tail.CompareAndSwap(at, at+1) {
			return p, at
		}
		if int64(turn-at) < 0 {
			return nil, 0
		}
	}
}

func (p *place) publish(at uint64) { processor.Publish(&p.turn, at+1) }

// dequeue removes up to limit records, oldest first, and appends them to batch.
func (r *ring) dequeue(batch []record, limit int) []record {
	r.taking.Lock()
	defer r.taking.Unlock()
	at := r.head.Load()
	for range limit {
		p := &r.places[at&r.mask]
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

// drop removes the oldest record.
func (r *ring) drop() {
	var one [1]record
	r.dequeue(one[:0], 1)
}

func (r *ring) length() int { return int(r.tail.Load() - r.head.Load()) }

// accepted returns how many records the ring has accepted since it was made.
func (r *ring) accepted() int64 { return int64(r.tail.Load()) }
