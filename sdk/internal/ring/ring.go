// Package ring is the bounded queue between the program's goroutines and the exporter. It never
// overwrites and never waits. Many producers, one consumer at a time. (Vyukov's bounded queue: the
// sequence number of a place decides whose turn it is.)
package ring

import (
	"sync"
	"sync/atomic"
)

// Ring holds records of type T.
type Ring[T any] struct {
	Places []Place[T]
	mask   uint64
	tail   atomic.Uint64
	_      [56]byte
	head   atomic.Uint64 // written by the consumer
	_      [56]byte
	taking sync.Mutex // one at a time
}

// Place is room for a record.
type Place[T any] struct {
	turn   atomic.Uint64
	Record T
}

// New returns a ring; size must be a power of two.
func New[T any](size int) *Ring[T] {
	r := &Ring[T]{Places: make([]Place[T], size), mask: uint64(size - 1)}
	for i := range r.Places {
		r.Places[i].turn.Store(uint64(i))
	}
	return r
}

// Claim returns an empty place, or nil if the ring is full. The caller fills the place and publishes
// it.
func (r *Ring[T]) Claim() (*Place[T], uint64) {
	for {
		at := r.tail.Load()
		p := &r.Places[at&r.mask]
		turn := p.turn.Load()
		if turn == at && r.tail.CompareAndSwap(at, at+1) {
			return p, at
		}
		if int64(turn-at) < 0 {
			return nil, 0
		}
	}
}

// Publish makes a claimed place readable.
func (p *Place[T]) Publish(at uint64) { p.turn.Store(at + 1) }

// Dequeue removes up to limit records, oldest first, and appends them to batch.
func (r *Ring[T]) Dequeue(batch []T, limit int) []T {
	r.taking.Lock()
	defer r.taking.Unlock()
	at := r.head.Load()
	for range limit {
		p := &r.Places[at&r.mask]
		if p.turn.Load() != at+1 {
			break
		}
		batch = append(batch, p.Record)
		p.Record = *new(T)
		p.turn.Store(at + uint64(len(r.Places)))
		at++
	}
	r.head.Store(at)
	return batch
}

func (r *Ring[T]) Length() int { return int(r.tail.Load() - r.head.Load()) }

// Accepted returns the number of records that the ring has accepted.
func (r *Ring[T]) Accepted() int64 { return int64(r.tail.Load()) }
