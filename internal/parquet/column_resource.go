package parquet

import "github.com/corehour/corehour/internal/methodspan"

// resources numbers the resources of the rows, so that the columns they fill
// are looked up once per resource and not once per row.
type resources struct {
	rows     rowNumbers // the row's resource
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
	if r != c.last {
		c.last, c.lastAt = r, c.number(r)
	}
	c.rows.add(c.lastAt)
}

func (c *resources) number(r *methodspan.Resource) int32 {
	n, ok := c.pointers[r]
	if !ok {
		if n, ok = c.numbers[*r]; !ok {
			n = int32(len(c.values))
			c.numbers[*r] = n
			c.values = append(c.values, r)
		}
		c.pointers[r] = n
	}
	return n
}

func (c *resources) reset() {
	c.pointers = map[*methodspan.Resource]int32{}
	c.numbers = map[methodspan.Resource]int32{}
	clear(c.values)
	c.rows.reset()
	c.values, c.last = c.values[:0], nil
}

// perResource turns the values of a column, one per resource so far, into one per
// row. Where all resources are alike no row is looked at.
func perResource[K comparable](c *dictColumn[K], of *resources) {
	table := make([]int32, len(of.values))
	for i := range table {
		table[i] = c.rows.at(int32(i))
	}
	c.rows.reset()
	if len(c.values) == 0 || len(c.values) == 1 && c.nulls == 0 {
		return
	}
	c.nulls = 0
	for row := range of.rows.n {
		n := table[of.rows.at(int32(row))]
		if n == null {
			c.nulls++
		}
		c.rows.add(n)
	}
}

// resourceColumn is one column that follows from the resource.
type resourceColumn struct {
	stringColumn
	of    *resources
	value func(*methodspan.Resource) string
}

// fill sets the rows, once all are known.
func (c *resourceColumn) fill() {
	for _, r := range c.of.values {
		c.addName(c.value(r))
	}
	perResource(&c.dictColumn, c.of)
}

// startColumn is the start of the process, which follows from the resource too.
type startColumn struct {
	longColumn
	of *resources
}

func (c *startColumn) fill() {
	for _, r := range c.of.values {
		if r.ProcessStartNS != 0 {
			c.add(r.ProcessStartNS)
		} else {
			c.addNull()
		}
	}
	perResource(&c.dictColumn, c.of)
}
