package admission

import (
	"context"
	"sync"
)

// memoryBudget is memory that requests reserve before they are decoded, and release when
// they are done.
type memoryBudget struct {
	size int64

	mu       sync.Mutex
	reserved int64
	senders  map[string]int64 // those with reservations
	waiting  int
	changed  chan struct{} // closed when memory is released while others wait
}

func newMemoryBudget(size int64) *memoryBudget {
	return &memoryBudget{size: size, senders: make(map[string]int64), changed: make(chan struct{})}
}

// share returns how much one sender, and so one request, may reserve: a sender that does not
// release never blocks all others.
func (b *memoryBudget) share() int64 { return b.size / 2 }

// reservation is what one request has reserved. Its sender is empty where it is not known.
type reservation struct {
	budget   *memoryBudget
	sender   string
	reserved int64
}

// reserve waits until n more bytes are free, at most as long as ctx.
func (l *reservation) reserve(ctx context.Context, n int64) error {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for !l.fits(n) {
		b.waiting++
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		b.mu.Lock()
		b.waiting--
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	l.addBytes(n)
	return nil
}

// tryReserve reserves n more bytes if they are free now.
func (l *reservation) tryReserve(n int64) bool {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	if !l.fits(n) {
		return false
	}
	l.addBytes(n)
	return true
}

func (l *reservation) fits(n int64) bool {
	b := l.budget
	return b.reserved+n <= b.size && (l.sender == "" || b.senders[l.sender]+n <= b.share())
}

func (l *reservation) addBytes(n int64) {
	l.reserved += n
	l.budget.reserved += n
	if l.sender != "" {
		l.budget.senders[l.sender] += n
	}
}

// release ends the reservation.
func (l *reservation) release() {
	if l.reserved == 0 {
		return
	}
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved -= l.reserved
	if l.sender != "" {
		if b.senders[l.sender] -= l.reserved; b.senders[l.sender] == 0 {
			delete(b.senders, l.sender)
		}
	}
	l.reserved = 0
	if b.waiting > 0 {
		close(b.changed)
		b.changed = make(chan struct{})
	}
}

func (b *memoryBudget) bytesReserved() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reserved
}
