package corehour

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// truthOf adds up records one by one.
type truthOf struct {
	n, wall, cpu, cpuN, errors, waits, max int64
	squares                                float64
}

func (s *truthOf) addRecord(r *record) {
	s.n++
	s.wall += r.wall
	s.squares += float64(r.wall) * float64(r.wall)
	s.max = max(s.max, r.wall)
	if r.state == cpuExact {
		s.cpu += r.cpu
		s.cpuN++
		s.waits += int64(r.waits)
	}
	if r.failed {
		s.errors++
	}
}

// Aggregation keeps every sum, in any order and for a table of any fill: first callers are dropped, then
// records are lost, and both are counted.
func TestOverflow_KeepsSums(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	methods := make([]*Method, 6)
	for i := range methods {
		methods[i] = &Method{name: string(rune('a' + i))}
	}
	for _, limit := range []int{1000, 12, 4} {
		table := newCellTable(limit)
		want := map[*Method]*truthOf{}
		for range 20_000 {
			m := methods[random.IntN(len(methods))]
			r := &record{
				plan:   &plan{method: m, settings: settings{rate: 0.5, cpuRate: 1}},
				wall:   random.Int64N(1 << 30),
				failed: random.IntN(10) == 0,
			}
			if c := random.IntN(len(methods) + 1); c < len(methods) {
				r.caller = &methods[c].owner
			}
			if random.IntN(2) == 0 {
				r.state, r.cpu, r.waits = cpuExact, r.wall/2, uint32(random.IntN(4))
			}
			start := int64(1_700_000_040_000_000_000) + random.Int64N(2*minuteNS)
			before := table.lost
			table.addOverflow(r, start)
			if table.lost == before {
				if want[m] == nil {
					want[m] = &truthOf{}
				}
				want[m].addRecord(r)
			}
		}
		if len(table.cells) > 2*limit {
			t.Errorf("limit %d: %d cells", limit, len(table.cells))
		}
		if table.folded+table.lost != 20_000 {
			t.Errorf("limit %d: %d folded and %d lost of 20000", limit, table.folded, table.lost)
		}
		if (table.lost == 0) != (limit >= 12) || (table.widened == 0) != (limit == 1000) {
			t.Errorf("limit %d: %d lost, %d widened", limit, table.lost, table.widened)
		}
		got := map[*Method]*truthOf{}
		for cells := table.removeCells(7); len(cells) > 0; cells = table.removeCells(7) {
			for _, c := range cells {
				if minuteOf(c.first) != c.minute || minuteOf(c.last) != c.minute {
					t.Fatalf("a cell of minute %d from %d to %d", c.minute, c.first, c.last)
				}
				s := got[c.method]
				if s == nil {
					s = &truthOf{}
					got[c.method] = s
				}
				s.n += c.wall.n
				s.wall += c.wall.total
				s.squares += c.wall.squares
				s.max = max(s.max, c.wall.max)
				s.cpu += c.cpu.total
				s.cpuN += c.cpu.n
				s.errors += c.errors
				binned := int64(0)
				c.wall.bins.Each(func(_ int, n uint32) { binned += int64(n) })
				if binned != c.wall.n {
					t.Errorf("%d in the histogram of %d", binned, c.wall.n)
				}
				var moved cellSums // as those of refused requests are
				c.moveInto(&moved)
				s.waits += moved.waits
			}
		}
		for m, w := range want {
			g := got[m]
			if g == nil {
				t.Fatalf("limit %d: method %s is lost", limit, m.name)
			}
			if d := g.squares/w.squares - 1; d > 1e-9 || d < -1e-9 {
				t.Errorf("limit %d, method %s: squares %v, want %v", limit, m.name, g.squares, w.squares)
			}
			g.squares = w.squares
			if *g != *w {
				t.Errorf("limit %d, method %s: %+v, want %+v", limit, m.name, *g, *w)
			}
		}
		if table.length() != 0 || table.byCaller != 0 {
			t.Errorf("limit %d: %d cells left, %d by caller", limit, table.length(), table.byCaller)
		}
	}
}

// Every timed call is in the queue, in a cell, or counted as lost, while the queue is full most of the
// time.
func TestOverflow_Accounted(t *testing.T) {
	m := NewMethod("overflow.Method")
	e, _ := startWith(t, func(c *config) { c.queue, c.batch = 32, 16 })
	force(e, m, settings{rate: 1, cpuRate: 0.2})
	const goroutines, each = 8, 2000
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() {
			for range each {
				m.Begin().End()
			}
		})
	}
	running.Wait()
	s := Stats()
	if s.Recorded+s.Dropped != goroutines*each || s.Dropped != s.Folded+s.FoldLost || s.Dropped == 0 || s.Recorded < 32 {
		t.Errorf("%d recorded and %d dropped of %d, %d folded, %d lost", s.Recorded, s.Dropped, goroutines*each, s.Folded, s.FoldLost)
	}
	inCells := int64(0)
	for _, c := range e.cells.removeCells(1 << 20) {
		inCells += c.wall.n
	}
	if inCells != s.Folded {
		t.Errorf("%d in cells, %d folded", inCells, s.Folded)
	}
	if s := Stats(); s.CPUExact+s.CPUNotSampled+s.CPUUnavailable+s.CPUUntrusted != s.Dropped {
		t.Errorf("states %+v", s)
	}
}
