package parquet

import (
	"cmp"
	"math/bits"
	"slices"
)

// sorted returns the order of the rows by service, class, method, version and start. Queries filter and
// group by the first of these, so that they can skip row groups by their statistics, and equal names
// are adjacent. It is a radix sort: rows are dealt into piles by each key in turn, from the least to the
// most important. So rows are never compared, and each distinct name is compared only in ranks.
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

// sorter deals rows into piles; the rows of a pile keep their order.
type sorter struct {
	order, next []int32
	begins      []int32 // start of each pile in next
}

// piles sets the number of piles to n, all empty.
func (s *sorter) piles(n int) {
	s.begins = slices.Grow(s.begins[:0], n+1)[:n+1]
	clear(s.begins)
}

// counted computes the start of each pile from the sizes of the piles; the size of pile i is in
// begins[i+1].
func (s *sorter) counted() {
	for i := 1; i < len(s.begins); i++ {
		s.begins[i] += s.begins[i-1]
	}
}

// put adds a row to a pile.
func (s *sorter) put(pile int, row int32) {
	at := &s.begins[pile]
	s.next[*at] = row
	*at++
}

func (s *sorter) dealt() { s.order, s.next = s.next, s.order }

// startBits is the number of bits of a start time that one pass sorts by. It is small enough for the
// counts of the piles to fit the L1 cache.
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

// byName deals the rows by the ranks of their names; rows without a name come first.
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

// ranks returns the rank of each name in sorted order. Equal names have equal ranks.
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
