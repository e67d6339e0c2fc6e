package parquet

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/format"
)

// listColumn holds one field of the elements of a list that few rows have. An empty list means unknown, like
// a missing list.
type listColumn struct {
	rows   []listAt // all rows up to the last that has a list
	n      int      // rows
	size   int      // bytes of a value; 0 if its length stands before it
	values []byte
	starts []int32 // of the values, where they differ in length
}

// listAt is the range of a row's elements among the values.
type listAt struct{ first, count int32 }

// begin starts the list of the next row.
func (c *listColumn) begin(count int) {
	for len(c.rows) < c.n {
		c.rows = append(c.rows, listAt{})
	}
	c.rows = append(c.rows, listAt{int32(c.count()), int32(count)})
	c.n++
}

func (c *listColumn) beginAny(count int) {
	if count == 0 {
		c.n++
	} else {
		c.begin(count)
	}
}

func (c *listColumn) count() int {
	if c.size == 0 {
		return len(c.starts)
	}
	return len(c.values) / c.size
}

func (c *listColumn) addInt(v int32) {
	c.values = binary.LittleEndian.AppendUint32(c.values, uint32(v))
}

func (c *listColumn) addDouble(v float64) { c.values = appendDouble(c.values, v) }

func (c *listColumn) addString(v string) {
	c.starts = append(c.starts, int32(len(c.values)))
	c.values = stringKind.plain(c.values, validName(v))
}

func (c *listColumn) reset() {
	c.rows, c.n, c.values, c.starts = c.rows[:0], 0, c.values[:0], c.starts[:0]
}

// slice returns the PLAIN encoding of a row's elements.
func (c *listColumn) slice(at listAt) []byte {
	first, end := int(at.first), int(at.first+at.count)
	if c.size != 0 {
		return c.values[first*c.size : end*c.size]
	}
	from, to := int(c.starts[first]), len(c.values)
	if end < len(c.starts) {
		to = int(c.starts[end])
	}
	return c.values[from:to]
}

// encode writes definition level 0 where there is no list and 2 for every
// element (the list and its repeated group), repetition level 1 for every
// element but a row's first.
func (c *listColumn) encode(b *chunk, group *rowOrder) {
	b.encoding = format.Plain
	if len(c.rows) == 0 {
		b.values, b.nulls = len(group.rows), len(group.rows)
		b.levels, b.repeats = constantLevel(b.levels, b.values, 0), constantLevel(b.repeats, b.values, 0)
		return
	}
	defs, reps := b.defs[:0], b.reps[:0]
	for _, row := range group.rows {
		var at listAt
		if int(row) < len(c.rows) {
			at = c.rows[row]
		}
		if at.count == 0 {
			defs, reps = append(defs, 0), append(reps, 0)
			b.nulls++
			continue
		}
		for i := range at.count {
			defs = append(defs, 2)
			reps = append(reps, byte(min(i, 1)))
		}
		b.data = append(b.data, c.slice(at)...)
	}
	b.defs, b.reps = defs, reps
	b.values = len(defs)
	if b.nulls == len(defs) {
		b.levels = constantLevel(b.levels, len(defs), 0)
		b.repeats = constantLevel(b.repeats, len(defs), 0)
		return
	}
	b.levels = encodeLevels(b.levels, defs, 2)
	b.repeats = encodeLevels(b.repeats, reps, 1)
}
