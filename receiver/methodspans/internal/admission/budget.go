package admission

import (
	"context"
	"sync"
)

// budget is memory that requests take before they are decoded and give back when they are done.
type budget struct {
	size int64

	mu      sync.Mutex
	taken   int64
	senders map[string]int64 // as many as have something taken
	waiting int
	changed chan struct{} // closed when something is given back while others wait
}

func newBudget(size int64) *budget {
	return &budget{size: size, senders: make(map[string]int64), changed: make(chan struct{})}
}

// share is what one sender, and so one request, may take: what one sender does not give back
// never keeps all others out.
func (b *budget) share() int64 { return b.size / 2 }

// loan is what one request has taken. Its sender is empty where it is not known.
type loan struct {
	budget *budget
	sender string
	taken  int64
}

// take waits until n more bytes can be had, at most as long as ctx.
func (l *loan) take(ctx context.Context, n int64) error {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for !l.room(n) {
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
	l.add(n)
	return nil
}

// try takes n more bytes if they can be had now.
func (l *loan) try(n int64) bool {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	if !l.room(n) {
		return false
	}
	l.add(n)
	return true
}

func (l *loan) room(n int64) bool {
	b := l.budget
	return b.taken+n <= b.size && (l.sender == "" || b.senders[l.sender]+n <= b.share())
}

func (l *loan) add(n int64) {
	l.taken += n
	l.budget.taken += n
	if l.sender != "" {
		l.budget.senders[l.sender] += n
	}
}

// giveBack ends the loan.
func (l *loan) giveBack() {
	if l.taken == 0 {
		return
	}
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken -= l.taken
	if l.sender != "" {
		if b.senders[l.sender] -= l.taken; b.senders[l.sender] == 0 {
			delete(b.senders, l.sender)
		}
	}
	l.taken = 0
	if b.waiting > 0 {
		close(b.changed)
		b.changed = make(chan struct{})
	}
}

func (b *budget) bytesTaken() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken
}
