package parquet

import (
	"cmp"
	"math/bits"
	"slices"
)

// sorted is the order of the rows by service, class, method, version and start: what
// queries filter and group by comes first, so that a row group's statistics can skip
// it and equal names lie side by side. Rows are dealt out from the least important to
// the most important of these, so that rows are never compared, and names once per
// distinct name.
func (t *table) sorted() []int32 {
	var services, versions []string
	for _, r := range t.resources.values {
		services, versions = append(services, validName(r.Service)), append(versions, validName(r.Version))
	}
	s := sorter{order: make([]int32, t.resources.rows.n), next: make([]int32, t.resources.rows.n)}
	for i := range s.order {
		s.order[i] = int32(i)
	}
	s.byStart(t.start.values)
	s.byName(&t.resources.rows, ranks(versions))
	s.byName(&t.method.rows, ranks(t.method.values))
	s.byName(&t.class.rows, ranks(t.class.values))
	s.byName(&t.resources.rows, ranks(services))
	return s.order
}

// sorter deals rows out into piles; rows of one pile stay in their order.
type sorter struct {
	order, next []int32
	begins      []int32 // of the piles
}

// piles makes room for as many piles, all empty.
func (s *sorter) piles(n int) {
	s.begins = slices.Grow(s.begins[:0], n+1)[:n+1]
	clear(s.begins)
}

// counted says where the piles begin, once the rows of each are counted in the place
// after its own.
func (s *sorter) counted() {
	for i := 1; i < len(s.begins); i++ {
		s.begins[i] += s.begins[i-1]
	}
}

// put lays the next row on a pile.
func (s *sorter) put(pile int, row int32) {
	at := &s.begins[pile]
	s.next[*at] = row
	*at++
}

func (s *sorter) dealt() { s.order, s.next = s.next, s.order }

// startBits is how many bits of a start the rows are dealt out by at a time: few enough
// for the piles to be counted in the processor's nearest cache.
const startBits = 11

func (s *sorter) byStart(starts []int64) {
	first := slices.Min(starts)
	span := uint64(slices.Max(starts)) - uint64(first)
	for shift := 0; shift < bits.Len64(span); shift += startBits {
		pile := func(row int32) int {
			return int((uint64(starts[row]) - uint64(first)) >> shift & (1<<startBits - 1))
		}
		s.piles(1 << startBits)
		for row := range starts {
			s.begins[pile(int32(row))+1]++
		}
		s.counted()
		for _, row := range s.order {
			s.put(pile(row), row)
		}
		s.dealt()
	}
}

// byName deals the rows out by the ranks of their names; what has none comes first.
func (s *sorter) byName(rows *rowNumbers, ranks []int32) {
	if len(rows.each) == 0 {
		return // all have the same
	}
	pile := func(number int32) int {
		if number == null {
			return 0
		}
		return int(ranks[number]) + 1
	}
	s.piles(len(ranks) + 1)
	for _, number := range rows.each {
		s.begins[pile(number)+1]++
	}
	s.counted()
	for _, row := range s.order {
		s.put(pile(rows.each[row]), row)
	}
	s.dealt()
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
