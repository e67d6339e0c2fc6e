package adaptivesampler

import (
	"cmp"
	"slices"
	"sync"

	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// servedTables holds the tables served to SDKs. All are replaced together, once per interval.
type servedTables struct {
	mu       sync.RWMutex
	tables   map[decide.Group]*publishedTable
	fallback *publishedTable // for unknown services
}

// publishedTable is a table and the channel that is closed when it is replaced.
type publishedTable struct {
	table   *rates.Table
	changed chan struct{}
}

func newPublishedTable(t *rates.Table) *publishedTable {
	return &publishedTable{t, make(chan struct{})}
}

func newServedTables() *servedTables {
	return &servedTables{tables: make(map[decide.Group]*publishedTable), fallback: newPublishedTable(&rates.Table{})}
}

// Rates returns the table of a target. A version that was not seen yet gets the table of the newest version. An
// unknown service gets the fallback table.
func (s *servedTables) Rates(target rates.Target) (*rates.Table, <-chan struct{}) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	at := s.find(target)
	return at.table, at.changed
}

func (s *servedTables) find(target rates.Target) *publishedTable {
	id := decide.Group{Namespace: target.Namespace, Service: target.Service, Environment: target.Environment, Version: target.Version}
	if at, ok := s.tables[id]; ok {
		return at
	}
	id.Version = ""
	if at, ok := s.tables[id]; ok {
		return at
	}
	return s.fallback
}

// replace puts tables in force and returns the number of changed ones. It wakes waiters for changed and removed
// tables. It also wakes waiters for the fallback if tables of new groups exist, because one can be theirs.
func (s *servedTables) replace(tables map[decide.Group]*rates.Table, fallback *rates.Table) (changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	met := false
	for id, t := range tables {
		if _, ok := s.tables[id]; !ok && (s.fallback.table.Provisional || t.Revision != s.fallback.table.Revision) {
			met = true
			break
		}
	}
	for id, at := range s.tables {
		if t, ok := tables[id]; !ok || t.Revision != at.table.Revision {
			close(at.changed)
			delete(s.tables, id)
		}
	}
	for id, t := range tables {
		if _, ok := s.tables[id]; !ok {
			s.tables[id] = newPublishedTable(t)
			changes++
		}
	}
	if fallback.Revision != s.fallback.table.Revision {
		changes++
		met = true
	}
	if met {
		close(s.fallback.changed)
		s.fallback = newPublishedTable(fallback)
	}
	return changes
}

// aliases adds tables for targets that name only a part of their identity. A service without a version gets the
// table of its newest version. A service name alone, as sent by stock SDKs, gets the operations of all groups of
// that service.
func aliases(tables map[decide.Group]*rates.Table, groups []*group) {
	slices.SortFunc(groups, func(a, b *group) int { return cmp.Compare(a.ordinal, b.ordinal) })
	exact := make(map[decide.Group]bool, len(groups))
	for _, g := range groups {
		exact[g.Group] = true
	}
	alone := make(map[string][]*rates.Table)
	for _, g := range groups { // the newest is last
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

// withOperationsOf returns base with the operations of all tables. Of two rates for one operation the higher is
// used: the sampler can thin excess spans, but missing spans are lost.
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
