package corehour

import (
	"sync"

	"github.com/corehour/corehour/sdk/internal/callers"
)

// cellKey names a cell. Only records of equal probabilities may be added, and a
// cell never spans a minute of UTC.
type cellKey struct {
	method *Method
	caller *callers.Owner // nil = unknown
	p      float64
	cpuP   float64
	minute int64 // Unix minutes
	tail   bool
}

type cell struct {
	cellKey
	cellSums
}

// cellTable aggregates the records that the queue refused and the calls of mode Aggregate.
//
// It has two bounds. When the cells by caller are full, a record is added to its method's cell
// without caller, which has a bound of its own. When that is full too, the record is lost and
// counted.
type cellTable struct {
	mu       sync.Mutex
	cells    map[cellKey]*cell
	limit    int
	folded   int64 // records added that the queue had refused
	lost     int64 // records without a cell
	widened  int64 // records that lost their caller because the cells by caller were full
	byCaller int   // cells with a caller
}

func newCellTable(limit int) *cellTable {
	return &cellTable{cells: map[cellKey]*cell{}, limit: limit}
}

// addOverflow aggregates a record that the queue refused, or whose request was refused.
func (t *cellTable) addOverflow(r *record, start int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.cellOf(r.key(start), 1); c != nil {
		c.addRecord(r, start)
		t.folded++
	}
}

// addRecord aggregates a record of mode Aggregate.
func (t *cellTable) addRecord(key cellKey, r *record, start int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.cellOf(key, 1); c != nil {
		c.addRecord(r, start)
	}
}

// merge moves sums into the cell of key, and empties them.
func (t *cellTable) merge(key cellKey, from *cellSums) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from.wall.n == 0 {
		return
	}
	if c := t.cellOf(key, from.wall.n); c != nil {
		from.moveInto(&c.cellSums)
		return
	}
	from.moveInto(&cellSums{})
}

// cellOf returns the cell for n records of a key, or nil when there is no room.
func (t *cellTable) cellOf(key cellKey, n int64) *cell {
	c, ok := t.cells[key]
	if ok {
		return c
	}
	if key.caller != nil {
		if t.byCaller < t.limit {
			t.byCaller++
			return t.make(key)
		}
		key.caller = nil
		t.widened += n
		if c, ok = t.cells[key]; ok {
			return c
		}
	}
	if len(t.cells)-t.byCaller >= t.limit {
		t.lost += n
		return nil
	}
	return t.make(key)
}

func (t *cellTable) make(key cellKey) *cell {
	c := &cell{cellKey: key}
	t.cells[key] = c
	return c
}

// removeCells removes up to limit cells and returns them.
func (t *cellTable) removeCells(limit int) []*cell {
	t.mu.Lock()
	defer t.mu.Unlock()
	var taken []*cell
	for key, c := range t.cells {
		if len(taken) == limit {
			break
		}
		taken = append(taken, c)
		delete(t.cells, key)
		if key.caller != nil {
			t.byCaller--
		}
	}
	return taken
}

func (t *cellTable) length() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.cells)
}

// key returns the key of the cell that a record of mode Sample belongs to.
func (r *record) key(start int64) cellKey {
	return cellKey{method: r.plan.method, caller: r.caller, p: r.p(), cpuP: r.cpuP(), minute: minuteOf(start), tail: r.tail}
}

const minuteNS = 60_000_000_000

// minuteOf returns the minute of UTC of a Unix time in nanoseconds.
func minuteOf(unix int64) int64 {
	m := unix / minuteNS
	if unix%minuteNS < 0 {
		m--
	}
	return m
}

// measurements returns the number of timed calls in all cells.
func (t *cellTable) measurements() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := int64(0)
	for _, c := range t.cells {
		n += c.wall.n
	}
	return n
}

func (t *cellTable) snapshot(s *Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Folded, s.FoldLost, s.FoldWidened, s.Cells = t.folded, t.lost, t.widened, len(t.cells)
}
