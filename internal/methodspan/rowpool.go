package methodspan

import (
	"slices"
	"sync"
)

// rowPool keeps the memory of unused rows, which saves allocations and garbage collection: a
// row has half a kilobyte. The zero value keeps none.
type rowPool struct {
	mu   sync.Mutex
	free [][]Row // all zeros
	rows int     // in free
	max  int
}

// allocate returns an empty slice with room for n rows.
func (p *rowPool) allocate(n int) []Row {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		rows := p.free[last]
		p.free[last] = nil
		p.free = p.free[:last]
		p.rows -= cap(rows)
		if cap(rows) >= n {
			return rows
		}
	}
	return slices.Grow([]Row(nil), n)
}

// give takes back rows. The memory beyond their end must be zero.
func (p *rowPool) give(rows []Row) {
	clear(rows) // drops the references to names
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rows+cap(rows) <= p.max {
		p.rows += cap(rows)
		p.free = append(p.free, rows[:0])
	}
}
