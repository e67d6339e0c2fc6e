package corehour

import "github.com/corehour/corehour/sdk/internal/histogram"

// durationSums aggregates durations. The sums can be merged, and give mean, standard deviation,
// maximum and quantiles.
type durationSums struct {
	n       int64
	total   int64 // ns
	squares float64
	max     int64
	bins    histogram.H
}

func (s *durationSums) addDuration(ns int64) {
	s.n++
	s.total += ns
	s.squares += float64(ns) * float64(ns)
	s.max = max(s.max, ns)
	s.bins.Add(ns)
}

// moveInto adds s to other and empties s.
func (s *durationSums) moveInto(other *durationSums) {
	other.n += s.n
	other.total += s.total
	other.squares += s.squares
	other.max = max(other.max, s.max)
	s.bins.MoveInto(&other.bins)
	s.n, s.total, s.squares, s.max = 0, 0, 0, 0
}

// cellSums are the sums of one cell: calls that began between first and last
// (Unix ns), inside one minute.
type cellSums struct {
	first, last int64
	errors      int64
	waits       int64 // of calls with timed CPU
	wall, cpu   durationSums
}

func (c *cellSums) addRecord(r *record, start int64) {
	c.addWall(start, r.wall, r.failed)
	if r.state == cpuExact {
		c.cpu.addDuration(r.cpu)
		c.waits += int64(r.waits)
	}
}

func (c *cellSums) addWall(start, wall int64, failed bool) {
	if c.wall.n == 0 {
		c.first, c.last = start, start
	}
	c.first, c.last = min(c.first, start), max(c.last, start)
	c.wall.addDuration(wall)
	if failed {
		c.errors++
	}
}

func (c *cellSums) moveInto(other *cellSums) {
	if c.wall.n == 0 {
		return
	}
	if other.wall.n == 0 {
		other.first, other.last = c.first, c.last
	}
	other.first, other.last = min(other.first, c.first), max(other.last, c.last)
	other.errors += c.errors
	c.wall.moveInto(&other.wall)
	c.cpu.moveInto(&other.cpu)
	other.waits += c.waits
	c.errors, c.waits = 0, 0
}
