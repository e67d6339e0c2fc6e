package warehouse

import (
	"slices"
	"sync"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// itemTable tracks each item from its admission until it is stored or given up; the package comment lists the
// states. Its size is bounded by the queue, the overflow table and maxGivenUp.
type itemTable struct {
	mu    sync.Mutex
	items map[string]*item
	order []*item // oldest first; those that are gone are dropped lazily
	// open means that the outcome of some items is unknown until the next successful write.
	open    bool
	givenUp int
}

type item struct {
	at    time.Time
	state itemState
	// unsettled means that the last attempt to write the item may have stored it, and no earlier one did.
	// If the next attempt reports a duplicate, the last one stored it.
	unsettled bool
	// givenUp means that the item was given up while unsettled. It can turn out to be stored: an aggregate
	// that contains another copy could not be stored then. The next successful write settles it.
	givenUp bool
	// refused is the number of rows that the store refused in attempts that then failed. They are
	// counted already and are not part of the item's stored rows.
	refused int
}

// itemState is the position of an item in the exporter.
type itemState int

const (
	offered itemState = iota // to the queue, which can still refuse it
	queued
	atWriter
	aggregated // in the overflow table
	gone
)

// maxGivenUp bounds the ids kept during a long outage of the store. Usually they are the items of one write.
const maxGivenUp = 65_536

func newItemTable() *itemTable { return &itemTable{items: map[string]*item{}} }

// admit adds an item and reports whether it is new.
func (t *itemTable) admit(id string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if it := t.items[id]; it != nil && it.state != gone {
		return false
	}
	t.put(id, offered, now)
	return true
}

// mayBeRefused reports whether the queue may still refuse an item.
func (t *itemTable) mayBeRefused(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	it := t.items[id]
	return it != nil && it.state == offered
}

// accept records that the queue has accepted items.
func (t *itemTable) accept(ids ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if it := t.items[id]; it != nil && it.state == offered {
			it.state = queued
		}
	}
}

// put sets the state of an item. An item that was gone starts again and keeps its open outcomes.
func (t *itemTable) put(id string, state itemState, now time.Time) {
	it := t.items[id]
	if it == nil || it.state == gone {
		again := &item{at: now}
		if it != nil {
			again.unsettled, again.givenUp, again.refused = it.unsettled, it.givenUp, it.refused
		}
		it = again
		t.items[id] = it
		t.order = append(t.order, it)
	}
	it.state = state
}

// startWriting moves items from the queue to the writer. An item is a duplicate if another copy is at the
// writer or in the overflow table.
func (t *itemTable) startWriting(items []methodspan.Item, now time.Time) (fresh, duplicates []methodspan.Item) {
	return t.move(items, atWriter, now)
}

// aggregateRefused moves items that the queue refused to the overflow table. An item is a duplicate if
// another copy is at the writer or in the table.
func (t *itemTable) aggregateRefused(items []methodspan.Item, now time.Time) (fresh, duplicates []methodspan.Item) {
	return t.move(items, aggregated, now)
}

func (t *itemTable) move(items []methodspan.Item, to itemState, now time.Time) (moved, left []methodspan.Item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, i := range items {
		if it := t.items[i.ID]; it != nil && (it.state == atWriter || it.state == aggregated) {
			left = append(left, i)
			continue
		}
		t.put(i.ID, to, now)
		moved = append(moved, i)
	}
	return moved, left
}

// set sets the state of items, regardless of their previous state.
func (t *itemTable) set(state itemState, now time.Time, ids ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		t.put(id, state, now)
	}
}

// release ends items that the queue has refused, so that they may be sent again.
func (t *itemTable) release(ids ...string) {
	t.end(ids, offered, queued)
}

// remove ends items that are stored, lost, or given up.
func (t *itemTable) remove(ids ...string) {
	t.end(ids, offered, queued, atWriter, aggregated)
}

// end ends the items that are in one of the states. Their open outcomes stay, as long as there is room.
func (t *itemTable) end(ids []string, states ...itemState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if it := t.items[id]; it != nil && slices.Contains(states, it.state) {
			it.state = gone
			if !it.givenUp {
				delete(t.items, id)
			}
		}
	}
	t.trim()
}

// giveUp ends items of unknown outcome.
func (t *itemTable) giveUp(ids ...string) {
	t.mu.Lock()
	for _, id := range ids {
		if it := t.items[id]; it != nil && !it.givenUp && t.givenUp < maxGivenUp {
			it.givenUp, t.open = true, true
			t.givenUp++
		}
	}
	t.mu.Unlock()
	t.remove(ids...)
}

// mayBeStored reports whether an item was given up and can turn out to be stored.
func (t *itemTable) mayBeStored(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	it := t.items[id]
	return it != nil && it.givenUp
}

// unsettle records that an attempt may have stored the items of its batch that were not stored before.
func (t *itemTable) unsettle(batch []methodspan.Item, unstored []bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	inBatch := make(map[*item]bool, len(batch))
	for i := range batch {
		if it := t.items[batch[i].ID]; it != nil {
			inBatch[it] = true
			it.unsettled = it.unsettled || unstored[i]
		}
	}
	if t.open {
		for _, it := range t.items {
			it.unsettled = it.unsettled && inBatch[it]
		}
	}
	t.open = true
}

// isUnsettled reports whether the last attempt to write an item may have stored it.
func (t *itemTable) isUnsettled(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	it := t.items[id]
	return it != nil && it.unsettled
}

// refuse adds rows of an item that the store refused.
func (t *itemTable) refuse(id string, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if it := t.items[id]; it != nil {
		it.refused += rows
		t.open = true
	}
}

// notRefused returns the number of rows of an item that a failed attempt has stored or may have stored.
func (t *itemTable) notRefused(i *methodspan.Item) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if it := t.items[i.ID]; it != nil {
		return len(i.Rows) - it.refused
	}
	return len(i.Rows)
}

// settle records a successful write, after which the outcome of all earlier attempts is known.
func (t *itemTable) settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.open {
		return
	}
	for id, it := range t.items {
		it.unsettled, it.givenUp, it.refused = false, false, 0
		if it.state == gone {
			delete(t.items, id)
		}
	}
	t.open, t.givenUp = false, 0
}

// trim drops items that are gone from the front, and from everywhere once most are.
func (t *itemTable) trim() {
	n := 0
	for n < len(t.order) && t.order[n].state == gone {
		n++
	}
	t.order = t.order[n:]
	if len(t.order) > 2*len(t.items)+1024 {
		left := make([]*item, 0, len(t.items))
		for _, it := range t.order {
			if it.state != gone {
				left = append(left, it)
			}
		}
		t.order = left
	}
}

// age returns the age of the oldest item, 0 if there is none.
func (t *itemTable) age(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		return 0
	}
	return now.Sub(t.order[0].at)
}
