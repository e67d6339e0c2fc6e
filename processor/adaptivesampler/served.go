package adaptivesampler

import (
	"cmp"
	"slices"
	"sync"

	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// served are the tables that SDKs get. They change once per interval, all at once.
type served struct {
	mu       sync.RWMutex
	slots    map[decide.Group]*slot
	fallback *slot // for services never met
}

// slot is one table, and who wants to know when it is another.
type slot struct {
	table   *rates.Table
	changed chan struct{}
}

func newSlot(t *rates.Table) *slot { return &slot{t, make(chan struct{})} }

func newServed() *served {
	return &served{slots: make(map[decide.Group]*slot), fallback: newSlot(&rates.Table{})}
}

// Rates returns the table of a target. A version that was not met yet gets what the
// newest one has, a service that was not met what the file says of all.
func (s *served) Rates(target rates.Target) (*rates.Table, <-chan struct{}) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	at := s.find(target)
	return at.table, at.changed
}

func (s *served) find(target rates.Target) *slot {
	id := decide.Group{Namespace: target.Namespace, Service: target.Service, Environment: target.Environment, Version: target.Version}
	if at, ok := s.slots[id]; ok {
		return at
	}
	id.Version = ""
	if at, ok := s.slots[id]; ok {
		return at
	}
	return s.fallback
}

// replace puts tables in force and returns how many of them are new. Who waits for
// a table that is gone is woken as well, and so is who waits at the fallback when
// there are other tables for others than before: one may be its own.
func (s *served) replace(tables map[decide.Group]*rates.Table, fallback *rates.Table) (changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	met := false
	for id, t := range tables {
		if _, ok := s.slots[id]; !ok && (s.fallback.table.Provisional || t.Revision != s.fallback.table.Revision) {
			met = true
			break
		}
	}
	for id, at := range s.slots {
		if t, ok := tables[id]; !ok || t.Revision != at.table.Revision {
			close(at.changed)
			delete(s.slots, id)
		}
	}
	for id, t := range tables {
		if _, ok := s.slots[id]; !ok {
			s.slots[id] = newSlot(t)
			changes++
		}
	}
	if fallback.Revision != s.fallback.table.Revision {
		changes++
		met = true
	}
	if met {
		close(s.fallback.changed)
		s.fallback = newSlot(fallback)
	}
	return changes
}

// aliases adds the tables of targets that do not say all of themselves: a service
// without a version has those of the newest, and a service alone, as stock SDKs
// name themselves, the operations of all.
func aliases(tables map[decide.Group]*rates.Table, groups []*group) {
	slices.SortFunc(groups, func(a, b *group) int { return cmp.Compare(a.ordinal, b.ordinal) })
	exact := make(map[decide.Group]bool, len(groups))
	for _, g := range groups {
		exact[g.Group] = true
	}
	alone := make(map[string][]*rates.Table)
	for _, g := range groups { // the newest last
		table := tables[g.Group]
		id := g.Group
		if id.Version = ""; !exact[id] {
			tables[id] = table
		}
		alone[g.Service] = append(alone[g.Service], table)
	}
	for service, all := range alone {
		id := decide.Group{Service: service}
		base := all[len(all)-1]
		if exact[id] {
			base = tables[id]
		}
		if len(all) == 1 {
			tables[id] = base
			continue
		}
		tables[id] = withOperationsOf(base, all)
	}
}

// withOperationsOf returns a table with the operations of several. Of two rates for one
// operation the higher holds: what is too much is thinned here, what is missing is
// missing for good.
func withOperationsOf(base *rates.Table, all []*rates.Table) *rates.Table {
	var merged []rates.Operation
	places := make(map[string]int)
	for _, t := range all {
		for _, op := range t.Operations {
			if at, ok := places[op.Name]; ok {
				merged[at].P = max(merged[at].P, op.P)
				continue
			}
			places[op.Name] = len(merged)
			merged = append(merged, op)
		}
	}
	t := *base
	t.Operations = merged[:min(len(merged), maxServed)]
	t.Revision = revisionOf(&t)
	return &t
}
