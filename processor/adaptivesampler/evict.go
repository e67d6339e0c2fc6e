package adaptivesampler

import (
	"cmp"
	"maps"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
)

// evict makes room for the methods of the next interval when the table is nearly full. It removes the least
// recently seen methods, but none that was seen in the last two intervals. So methods that are seen only once
// displace each other, never methods in use.
func (t *methodTable) evict() (evicted int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := roomOf(t.maxMethods); t.count > room {
		evicted = t.evictMethods(t.count - room)
	}
	if room := roomOf(maxGroups); len(t.groups) > room {
		evicted += t.evictGroups(len(t.groups) - room)
	}
	return evicted
}

// evictGroups removes up to places versions that were not seen in the last two intervals. Versions without
// methods go first, then the least recently seen. It returns the number of methods removed with them. t.mu must
// be held.
func (t *methodTable) evictGroups(places int) (evicted int) {
	type idle struct {
		group *group
		used  int64 // 0 if it has no methods
	}
	var all []idle
	for _, g := range t.groups {
		used := g.overflow.used
		for _, m := range g.methods {
			used = max(used, m.used)
		}
		if used >= t.epoch-2 {
			continue
		}
		if len(g.methods) == 0 {
			used = 0
		}
		all = append(all, idle{g, used})
	}
	slices.SortFunc(all, func(a, b idle) int { return cmp.Compare(a.used, b.used) })
	for _, i := range all[:min(places, len(all))] {
		for _, m := range i.group.methods {
			t.count -= m.spellings
			t.addHolding(i.group.sender, 0, -m.spellings)
			evicted++
		}
		t.addHolding(i.group.sender, -1, 0)
		delete(t.groups, i.group.Group)
	}
	return evicted
}

// evictMethods removes methods that were not seen in the last two intervals until it has freed the number of
// places, and returns how many it removed. It can free less. t.mu must be held.
func (t *methodTable) evictMethods(places int) int {
	var idle []*method
	for _, g := range t.groups {
		for _, m := range g.methods {
			if m.used < t.epoch-2 {
				idle = append(idle, m)
			}
		}
	}
	slices.SortFunc(idle, func(a, b *method) int { return cmp.Compare(a.used, b.used) })
	gone := make(map[*method]bool)
	touched := make(map[*group]bool)
	for _, m := range idle {
		if places <= 0 {
			break
		}
		places -= m.spellings
		t.count -= m.spellings
		t.addHolding(m.group.sender, 0, -m.spellings)
		gone[m] = true
		touched[m.group] = true
	}
	for g := range touched {
		g.forget(gone)
	}
	return len(gone)
}

func (g *group) forget(gone map[*method]bool) {
	g.changed = true
	maps.DeleteFunc(g.plain, func(_ string, m *method) bool { return gone[m] })
	maps.DeleteFunc(g.apart, func(_ methodKey, m *method) bool { return gone[m] })
	maps.DeleteFunc(g.methods, func(_ methodspan.Function, m *method) bool { return gone[m] })
	maps.DeleteFunc(g.callers, func(_ string, m *method) bool { return gone[m] })
}
