package parquet

import (
	"encoding/binary"
	"slices"
)

// idColumn holds ids of 8 or 16 bytes; all zeros mean no id. They are incompressible.
type idColumn struct {
	size   int
	n      int    // rows
	values []byte // of all rows up to the last that has one
}

func (c *idColumn) addNull() { c.n++ }

// appendID adds an id of the column's size.
func (c *idColumn) appendID(id []byte) {
	low, high := idHalves(id)
	if low|high == 0 {
		c.n++
		return
	}
	if missing := c.n*c.size - len(c.values); missing > 0 {
		c.values = append(c.values, make([]byte, missing)...)
	}
	c.values = appendID(c.values, low, high, c.size)
	c.n++
}

// idHalves returns the first and the last 8 bytes of an id. high is 0 for ids of 8 bytes.
func idHalves(id []byte) (low, high uint64) {
	low = binary.LittleEndian.Uint64(id)
	if len(id) == 16 {
		high = binary.LittleEndian.Uint64(id[8:])
	}
	return low, high
}

func appendID(dst []byte, low, high uint64, size int) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, low)
	if size == 16 {
		dst = binary.LittleEndian.AppendUint64(dst, high)
	}
	return dst
}

func (c *idColumn) reset() { c.n, c.values = 0, c.values[:0] }

func (c *idColumn) encode(b *chunk, group *rowOrder) {
	b.values = len(group.rows)
	b.random = true
	if len(c.values) == 0 {
		b.nulls = b.values
		b.levels = constantLevel(b.levels, b.values, 0)
		return
	}
	defs, data := b.defs[:0], slices.Grow(b.data, b.values*c.size)
	for _, row := range group.rows {
		var low, high uint64
		if begin := int(row) * c.size; begin < len(c.values) {
			low, high = idHalves(c.values[begin : begin+c.size])
		}
		if low|high == 0 {
			defs = append(defs, 0)
			continue
		}
		defs = append(defs, 1)
		data = appendID(data, low, high, c.size)
	}
	b.setLevels(defs)
	b.defs, b.data = defs, data
}
