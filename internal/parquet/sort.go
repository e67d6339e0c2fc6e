package parquet

import (
	"cmp"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
)

// sortKey is what rows are sorted by before their start: what queries filter
// and group by comes first, so that a row group's statistics can skip it and
// equal names lie side by side.
type sortKey struct {
	service, class, method, version string
}

func (k sortKey) compare(o sortKey) int {
	return cmp.Or(
		cmp.Compare(k.service, o.service), cmp.Compare(k.class, o.class),
		cmp.Compare(k.method, o.method), cmp.Compare(k.version, o.version))
}

type sortEntry struct {
	row   *methodspan.Row
	rank  int32
	start int64
}

// sortRows sorts by service, class, method, version and start. Strings are
// compared once per distinct key and not once per pair of rows.
func sortRows(rows []*methodspan.Row) {
	ids := make(map[sortKey]int32, 256)
	var keys []sortKey
	entries := make([]sortEntry, len(rows))
	for i, r := range rows {
		res := r.Resource
		if res == nil {
			res = &unknown
		}
		key := sortKey{res.Service, r.Class, r.Method, res.Version}
		id, ok := ids[key]
		if !ok {
			id = int32(len(keys))
			ids[key] = id
			keys = append(keys, key)
		}
		entries[i] = sortEntry{r, id, r.StartNS}
	}
	order := make([]int32, len(keys))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return keys[a].compare(keys[b]) })
	rank := make([]int32, len(keys))
	for r, id := range order {
		rank[id] = int32(r)
	}
	for i := range entries {
		entries[i].rank = rank[entries[i].rank]
	}
	slices.SortFunc(entries, func(a, b sortEntry) int {
		if a.rank != b.rank {
			return cmp.Compare(a.rank, b.rank)
		}
		return cmp.Compare(a.start, b.start)
	})
	for i := range entries {
		rows[i] = entries[i].row
	}
}
