package warehouse

import (
	"sync"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// taken knows the items that were taken from the pipeline and are neither stored
// nor given up yet, wherever they are: queued, being written or folded. An item
// that comes again in the meantime is a repeat. A stored queue may hold copies that
// an earlier run took, which are known once the queue hands them out. It never happens
// that one copy is written and another is in a sum, which could not be stored then.
// Its bound is what may be queued and folded.
type taken struct {
	mu    sync.Mutex
	items map[string]*takenItem
	order []*takenItem // as they came; those that are done are dropped lazily
}

type takenItem struct {
	at    time.Time
	place place
	done  bool
	// offered: the queue has not said yet whether it takes the item.
	offered bool
}

// place is where an item is.
type place int

const (
	queued place = iota
	atWriter
	inSum
)

func newTaken() *taken { return &taken{items: map[string]*takenItem{}} }

// add is false if the item is there already.
func (t *taken) add(id string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.items[id] != nil {
		return false
	}
	t.put(id, queued, now)
	t.items[id].offered = true
	return true
}

// offered tells whether the queue may yet refuse an item.
func (t *taken) offered(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	it := t.items[id]
	return it != nil && it.offered
}

// accept notes that the queue has taken items.
func (t *taken) accept(ids ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if it := t.items[id]; it != nil {
			it.offered = false
		}
	}
}

func (t *taken) put(id string, p place, now time.Time) {
	it := t.items[id]
	if it == nil {
		it = &takenItem{at: now}
		t.items[id] = it
		t.order = append(t.order, it)
	}
	it.place, it.offered = p, false
}

// write moves items from the queue to the writer. Repeats are those of which another
// copy is there or in a sum.
func (t *taken) write(items []methodspan.Item, now time.Time) (fresh, repeats []methodspan.Item) {
	return t.move(items, atWriter, now, func(at place) bool { return at == queued })
}

// sumRefused moves items that the queue has refused to a sum. Repeats are those of
// which another copy is at the writer or in a sum.
func (t *taken) sumRefused(items []methodspan.Item, now time.Time) (fresh, repeats []methodspan.Item) {
	return t.move(items, inSum, now, func(at place) bool { return at == queued })
}

// sumUnwritten moves items from the writer to a sum.
func (t *taken) sumUnwritten(items []methodspan.Item, now time.Time) {
	t.move(items, inSum, now, func(place) bool { return true })
}

func (t *taken) move(items []methodspan.Item, to place, now time.Time, may func(place) bool) (moved, left []methodspan.Item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, item := range items {
		if it := t.items[item.ID]; it != nil && !may(it.place) {
			left = append(left, item)
			continue
		}
		t.put(item.ID, to, now)
		moved = append(moved, item)
	}
	return moved, left
}

// release forgets items that the queue has refused, to be sent again.
func (t *taken) release(ids ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if it := t.items[id]; it != nil && it.place == queued {
			t.drop(id, it)
		}
	}
	t.trim()
}

func (t *taken) drop(id string, it *takenItem) {
	it.done = true
	delete(t.items, id)
}

func (t *taken) settle(ids ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if it := t.items[id]; it != nil {
			t.drop(id, it)
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
