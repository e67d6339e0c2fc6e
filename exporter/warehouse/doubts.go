package warehouse

import "sync"

// doubts are items that were given up while it was not known whether they are stored.
// The store does not call them committed yet, but they may turn out to be: a sum that a
// repeat was folded into could not be stored then. The next write that succeeds settles
// them.
type doubts struct {
	mu  sync.Mutex
	ids map[string]bool
}

// maxDoubts bounds what is remembered of a store that is away for long. Mostly these are
// the items of one write.
const maxDoubts = 65_536

func (d *doubts) add(ids ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ids == nil {
		d.ids = map[string]bool{}
	}
	for _, id := range ids {
		if len(d.ids) < maxDoubts {
			d.ids[id] = true
		}
	}
}

func (d *doubts) has(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ids[id]
}

func (d *doubts) settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids = nil
}
