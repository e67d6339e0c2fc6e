package parquet

import (
	"cmp"
	"slices"
)

// sorted is the order of the rows by service, class, method, version and start: what
// queries filter and group by comes first, so that a row group's statistics can skip
// it and equal names lie side by side. Names are compared once per distinct name and
// never per pair of rows: rows are dealt out by the ranks of their names, from the
// last name to the first, and only then, within equal names, sorted by start.
func (t *table) sorted() []int32 {
	var services, versions []string
	for _, r := range t.resources.values {
		services, versions = append(services, validName(r.Service)), append(versions, validName(r.Version))
	}
	s := sorter{order: make([]int32, t.resources.rows.n), next: make([]int32, t.resources.rows.n)}
	for i := range s.order {
		s.order[i] = int32(i)
	}
	s.by(&t.resources.rows, ranks(versions))
	s.by(&t.method.rows, ranks(t.method.values))
	s.by(&t.class.rows, ranks(t.class.values))
	s.by(&t.resources.rows, ranks(services))
	s.within(t.start.values)
	return s.order
}

// sorter brings rows into an order, by the least important of their names first.
type sorter struct {
	order, next []int32
	names       []rankedNames
}

// rankedNames are the names of rows and where each stands among them.
type rankedNames struct {
	rows  *rowNumbers
	ranks []int32
}

// of is the rank of a row's name; what has none comes first.
func (n *rankedNames) of(row int32) int32 {
	number := n.rows.at(row)
	if number == null {
		return 0
	}
	return n.ranks[number] + 1
}

// by deals the rows out by their names; rows of equal names stay in their order.
func (s *sorter) by(rows *rowNumbers, ranks []int32) {
	if len(rows.each) == 0 {
		return // all have the same
	}
	n := rankedNames{rows, ranks}
	s.names = append(s.names, n)
	begins := make([]int32, len(ranks)+2)
	for _, row := range s.order {
		begins[n.of(row)+1]++
	}
	for i := 1; i < len(begins); i++ {
		begins[i] += begins[i-1]
	}
	for _, row := range s.order {
		at := &begins[n.of(row)]
		s.next[*at] = row
		*at++
	}
	s.order, s.next = s.next, s.order
}

// within sorts the rows of equal names by start.
func (s *sorter) within(starts []int64) {
	begin := 0
	for i := 1; i <= len(s.order); i++ {
		if i < len(s.order) && s.alike(s.order[i-1], s.order[i]) {
			continue
		}
		run := s.order[begin:i]
		begin = i
		slices.SortFunc(run, func(a, b int32) int { return cmp.Compare(starts[a], starts[b]) })
	}
}

// alike tells whether two rows have equal names.
func (s *sorter) alike(a, b int32) bool {
	for i := range s.names {
		if s.names[i].of(a) != s.names[i].of(b) {
			return false
		}
	}
	return true
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
