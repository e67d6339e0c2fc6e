package warehouse

import "sync"

// unknownOutcomes are items that were given up while their outcome was unknown. The store
// does not report them as committed yet, but they may turn out to be: an aggregate that
// holds a duplicate of them could not be stored then. The next write that succeeds
// resolves them.
type unknownOutcomes struct {
	mu  sync.Mutex
	ids map[string]bool
}

// maxUnknownOutcomes bounds the ids kept while a store is unreachable for long. Mostly
// these are the items of one write.
const maxUnknownOutcomes = 65_536

func (d *unknownOutcomes) addIDs(ids ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ids == nil {
		d.ids = map[string]bool{}
	}
	for _, id := range ids {
		if len(d.ids) < maxUnknownOutcomes {
			d.ids[id] = true
		}
	}
}

func (d *unknownOutcomes) has(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ids[id]
}

func (d *unknownOutcomes) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids = nil
}
