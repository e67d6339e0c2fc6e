package parquet

import "github.com/corehour/corehour/internal/methodspan"

// resources numbers the resources of the rows, so that the columns they fill
// are looked up once per resource and not once per row.
type resources struct {
	rows     []int32 // the row's resource
	pointers map[*methodspan.Resource]int32
	numbers  map[methodspan.Resource]int32
	values   []*methodspan.Resource
	last     *methodspan.Resource
	lastAt   int32
}

func (c *resources) add(r *methodspan.Resource) {
	if r == nil {
		r = &unknown
	}
	if r == c.last {
		c.rows = append(c.rows, c.lastAt)
		return
	}
	n, ok := c.pointers[r]
	if !ok {
		if n, ok = c.numbers[*r]; !ok {
			n = int32(len(c.values))
			c.numbers[*r] = n
			c.values = append(c.values, r)
		}
		c.pointers[r] = n
	}
	c.last, c.lastAt = r, n
	c.rows = append(c.rows, n)
}

func (c *resources) reset() {
	c.pointers = map[*methodspan.Resource]int32{}
	c.numbers = map[methodspan.Resource]int32{}
	clear(c.values)
	c.rows, c.values, c.last = c.rows[:0], c.values[:0], nil
}

// resourceColumn is one column that follows from the resource.
type resourceColumn struct {
	stringColumn
	of    *resources
	value func(*methodspan.Resource) string
	table []int32
}

// fill sets the rows, once all are known. Where all resources are alike there
// is nothing to set: no row is looked at then.
func (c *resourceColumn) fill() {
	for _, r := range c.of.values {
		c.addName(c.value(r))
	}
	c.table = append(c.table[:0], c.rows...)
	unknowns := c.nulls
	c.rows, c.nulls = c.rows[:0], 0
	if len(c.values) == 0 || len(c.values) == 1 && unknowns == 0 {
		return
	}
	for _, r := range c.of.rows {
		n := c.table[r]
		if n == null {
			c.nulls++
		}
		c.rows = append(c.rows, n)
	}
}

// startColumn is the start of the process, which follows from the resource too.
type startColumn struct {
	longColumn
	of *resources
}

func (c *startColumn) fill() {
	for _, r := range c.of.rows {
		if start := c.of.values[r].ProcessStartNS; start != 0 {
			c.add(start)
		} else {
			c.addNull()
		}
	}
}
