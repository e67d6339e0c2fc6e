package parquet

import (
	"cmp"
	"slices"
)

// sortKey is what rows are sorted by before their start: what queries filter and
// group by comes first, so that a row group's statistics can skip it and equal
// names lie side by side. It holds the ranks of service and class, and those of
// method and version, two to a number.
type sortKey struct{ high, low uint64 }

func newSortKey(service, class, method, version int32) sortKey {
	return sortKey{uint64(service)<<32 | uint64(uint32(class)), uint64(uint32(method))<<32 | uint64(uint32(version))}
}

func (k sortKey) compare(o sortKey) int {
	if k.high != o.high {
		return cmp.Compare(k.high, o.high)
	}
	return cmp.Compare(k.low, o.low)
}

// sorted is the order of the rows by service, class, method, version and start.
// Names are compared once per distinct name and never per pair of rows.
func (t *table) sorted() []int32 {
	var services, versions []string
	for _, r := range t.resources.values {
		services, versions = append(services, validName(r.Service)), append(versions, validName(r.Version))
	}
	service, version := ranks(services), ranks(versions)
	class, method := ranks(t.class.values), ranks(t.method.values)
	rank := func(ranks []int32, number int32) int32 {
		if number == null {
			return 0
		}
		return ranks[number] + 1
	}
	n := t.resources.rows.n
	ids := map[sortKey]int32{}
	var keys []numberedKey
	var counts []int32
	rows := make([]int32, n) // the row's key
	for i := range int32(n) {
		res := t.resources.rows.at(i)
		key := newSortKey(service[res], rank(class, t.class.rows.at(i)), rank(method, t.method.rows.at(i)), version[res])
		id, ok := ids[key]
		if !ok {
			id = int32(len(keys))
			ids[key] = id
			keys, counts = append(keys, numberedKey{key, id}), append(counts, 0)
		}
		rows[i] = id
		counts[id]++
	}
	// The rows of one key go next to each other, then each run is sorted.
	ordered := make([]int32, len(keys))
	slices.SortFunc(keys, func(a, b numberedKey) int { return a.compare(b.sortKey) })
	for i, k := range keys {
		ordered[i] = k.id
	}
	next := make([]int32, len(keys))
	at := int32(0)
	for _, id := range ordered {
		next[id] = at
		at += counts[id]
	}
	entries := make([]sortEntry, n)
	for i, id := range rows {
		entries[next[id]] = sortEntry{t.start.values[i], int32(i)}
		next[id]++
	}
	at = 0
	for _, id := range ordered {
		run := entries[at : at+counts[id]]
		slices.SortFunc(run, func(a, b sortEntry) int { return cmp.Compare(a.start, b.start) })
		at += counts[id]
	}
	for i, e := range entries {
		rows[i] = e.row
	}
	return rows
}

type numberedKey struct {
	sortKey
	id int32
}

type sortEntry struct {
	start int64
	row   int32
}

// ranks tells for each of the names where it stands among them; equal names
// stand at the same place.
func ranks(names []string) []int32 {
	order := make([]int32, len(names))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(names[a], names[b]) })
	ranks := make([]int32, len(names))
	rank := int32(0)
	for i, name := range order {
		if i > 0 && names[name] != names[order[i-1]] {
			rank++
		}
		ranks[name] = rank
	}
	return ranks
}
