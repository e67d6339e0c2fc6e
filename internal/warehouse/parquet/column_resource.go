package parquet

import (
	"unsafe"

	"github.com/corehour/corehour/internal/methodspan"
)

// resources numbers the resources of the rows, so that their columns are computed once per resource and not
// once per row.
type resources struct {
	rows     rowNumbers // the row's resource
	pointers map[*methodspan.Resource]int32
	numbers  map[methodspan.Resource]int32
	values   []*methodspan.Resource
	last     *methodspan.Resource
	lastAt   int32
	recent   [recentResources]numbered[*methodspan.Resource] // by slot, as those of dictColumn
}

const recentResources = 256

func (c *resources) appendResource(r *methodspan.Resource) {
	if r == nil {
		r = &unknown
	}
	if r != c.last {
		c.last, c.lastAt = r, c.number(r)
	}
	c.rows.appendNumber(c.lastAt)
}

func (c *resources) number(r *methodspan.Resource) int32 {
	slot := &c.recent[uint64(uintptr(unsafe.Pointer(r)))*mixer>>48%recentResources]
	if slot.place == 0 || slot.value != r {
		*slot = numbered[*methodspan.Resource]{r, c.lookup(r) + 1}
	}
	return slot.place - 1
}

func (c *resources) lookup(r *methodspan.Resource) int32 {
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
	clear(c.recent[:])
	c.rows.reset()
	c.values, c.last = c.values[:0], nil
}
