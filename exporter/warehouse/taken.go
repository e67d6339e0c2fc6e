package warehouse

import (
	"sync"
	"time"
)

// taken knows the items that were taken from the pipeline and are neither stored
// nor given up yet, wherever they are: queued, being written or folded. An item
// that comes again in the meantime is a repeat. Its bound is what may be queued
// and folded.
type taken struct {
	mu    sync.Mutex
	items map[string]*takenItem
	order []*takenItem // as they came; those that are done are dropped lazily
}

type takenItem struct {
	at   time.Time
	done bool
}

func newTaken() *taken { return &taken{items: map[string]*takenItem{}} }

// add is false if the item is there already.
func (t *taken) add(id string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.items[id] != nil {
		return false
	}
	it := &takenItem{at: now}
	t.items[id] = it
	t.order = append(t.order, it)
	return true
}

func (t *taken) settle(ids ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if it := t.items[id]; it != nil {
			it.done = true
			delete(t.items, id)
		}
	}
	t.trim()
}

// trim drops what is done from the front, and from everywhere once most is done.
func (t *taken) trim() {
	n := 0
	for n < len(t.order) && t.order[n].done {
		n++
	}
	t.order = t.order[n:]
	if len(t.order) > 2*len(t.items)+1024 {
		left := make([]*takenItem, 0, len(t.items))
		for _, it := range t.order {
			if !it.done {
				left = append(left, it)
			}
		}
		t.order = left
	}
}

// age is that of the oldest item, 0 if there is none.
func (t *taken) age(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		return 0
	}
	return now.Sub(t.order[0].at)
}
