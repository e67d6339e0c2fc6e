package warehouse

import (
	"sync"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// inFlightItems are the items that were accepted from the pipeline and are neither stored
// nor given up yet: queued, being written or aggregated. An item that comes again in the
// meantime is a duplicate. A persistent queue may hold copies from an earlier run, which
// are known once the queue returns them. One copy is never written while another is in the
// overflow table: its aggregate could not be stored then. The set is bounded by what may
// be queued and aggregated.
type inFlightItems struct {
	mu    sync.Mutex
	items map[string]*inFlightItem
	order []*inFlightItem // oldest first; those that are done are dropped lazily
}

type inFlightItem struct {
	at       time.Time
	location itemLocation
	done     bool
	// offered: the queue has not answered yet whether it accepts the item.
	offered bool
}

// itemLocation is where an in-flight item is.
type itemLocation int

const (
	queued itemLocation = iota
	atWriter
	inOverflow
)

func newInFlightItems() *inFlightItems { return &inFlightItems{items: map[string]*inFlightItem{}} }

// admit adds an item and reports whether it is new.
func (t *inFlightItems) admit(id string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.items[id] != nil {
		return false
	}
	t.put(id, queued, now)
	t.items[id].offered = true
	return true
}

// offered reports whether the queue may still refuse an item.
func (t *inFlightItems) offered(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	it := t.items[id]
	return it != nil && it.offered
}

// accept records that the queue has accepted items.
func (t *inFlightItems) accept(ids ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if it := t.items[id]; it != nil {
			it.offered = false
		}
	}
}

func (t *inFlightItems) put(id string, p itemLocation, now time.Time) {
	it := t.items[id]
	if it == nil {
		it = &inFlightItem{at: now}
		t.items[id] = it
		t.order = append(t.order, it)
	}
	it.location, it.offered = p, false
}

// moveToWriter moves items from the queue to the writer. Duplicates are those of which
// another copy is there or in the overflow table.
func (t *inFlightItems) moveToWriter(items []methodspan.Item, now time.Time) (fresh, duplicates []methodspan.Item) {
	return t.move(items, atWriter, now, func(at itemLocation) bool { return at == queued })
}

// moveRefusedToOverflow moves items that the queue has refused to the overflow table.
// Duplicates are those of which another copy is at the writer or in the table.
func (t *inFlightItems) moveRefusedToOverflow(items []methodspan.Item, now time.Time) (fresh, duplicates []methodspan.Item) {
	return t.move(items, inOverflow, now, func(at itemLocation) bool { return at == queued })
}

// moveUnwrittenToOverflow moves items from the writer to the overflow table.
func (t *inFlightItems) moveUnwrittenToOverflow(items []methodspan.Item, now time.Time) {
	t.move(items, inOverflow, now, func(itemLocation) bool { return true })
}

func (t *inFlightItems) move(items []methodspan.Item, to itemLocation, now time.Time, may func(itemLocation) bool) (moved, left []methodspan.Item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, item := range items {
		if it := t.items[item.ID]; it != nil && !may(it.location) {
			left = append(left, item)
			continue
		}
		t.put(item.ID, to, now)
		moved = append(moved, item)
	}
	return moved, left
}

// release removes items that the queue has refused, so that they may be sent again.
func (t *inFlightItems) release(ids ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if it := t.items[id]; it != nil && it.location == queued {
			t.drop(id, it)
		}
	}
	t.trim()
}

func (t *inFlightItems) drop(id string, it *inFlightItem) {
	it.done = true
	delete(t.items, id)
}

func (t *inFlightItems) remove(ids ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if it := t.items[id]; it != nil {
			t.drop(id, it)
		}
	}
	t.trim()
}

// trim drops done items from the front, and from everywhere once most are done.
func (t *inFlightItems) trim() {
	n := 0
	for n < len(t.order) && t.order[n].done {
		n++
	}
	t.order = t.order[n:]
	if len(t.order) > 2*len(t.items)+1024 {
		left := make([]*inFlightItem, 0, len(t.items))
		for _, it := range t.order {
			if !it.done {
				left = append(left, it)
			}
		}
		t.order = left
	}
}

// age returns the age of the oldest item, 0 if there is none.
func (t *inFlightItems) age(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		return 0
	}
	return now.Sub(t.order[0].at)
}
