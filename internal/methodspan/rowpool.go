package methodspan

import (
	"slices"
	"sync"
)

// rowPool keeps the memory of rows that nobody has any more. A row is half a
// kilobyte that the garbage collector would look through, and a collector makes and
// drops them all the time. The zero value keeps none.
type rowPool struct {
	mu   sync.Mutex
	free [][]Row // all zeros
	rows int     // in free
	max  int
}

// allocate is memory for n rows.
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

// give takes rows back whose memory beyond their end is zero.
func (p *rowPool) give(rows []Row) {
	clear(rows) // let go of the names
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rows+cap(rows) <= p.max {
		p.rows += cap(rows)
		p.free = append(p.free, rows[:0])
	}
}
