package parquet

import (
	"bytes"
	"encoding/binary"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// timeColumn holds numbers that differ from row to row: starts, durations. It stores differences. They are
// small if rows are sorted by start; otherwise they need at most the bits of the largest of 32.
type timeColumn struct {
	required bool
	n        int     // rows
	values   []int64 // of all rows up to the last that has one
	known    []byte  // 1 where there is a value; unused if required
	nulls    int
}

func (c *timeColumn) appendTime(v int64) {
	if !c.required {
		c.known = append(grown(c.known, c.n), 1)
		c.values = grown(c.values, c.n)
	}
	c.values = append(c.values, v)
	c.n++
}

func (c *timeColumn) addNull() { c.addNulls(1) }

func (c *timeColumn) addNulls(n int) {
	c.n += n
	c.nulls += n
}

// grown returns s extended with zeros to length n.
func grown[T any](s []T, n int) []T {
	var zero T
	for len(s) < n {
		s = append(s, zero)
	}
	return s
}

func (c *timeColumn) reset() {
	c.values, c.known, c.n, c.nulls = c.values[:0], c.known[:0], 0, 0
}

func (c *timeColumn) encode(b *chunk, group *rowOrder) {
	b.values = len(group.rows)
	b.encoding = format.DeltaBinaryPacked
	b.random = true // as good as
	longs := b.longs[:0]
	switch {
	case c.required || c.nulls == 0:
		for _, row := range group.rows {
			longs = append(longs, c.values[row])
		}
		if !c.required {
			b.levels = constantLevel(b.levels, b.values, 1)
		}
	case c.nulls == c.n:
		b.nulls = b.values
		b.levels = constantLevel(b.levels, b.values, 0)
	default:
		defs := b.defs[:0]
		for _, row := range group.rows {
			if int(row) < len(c.known) && c.known[row] != 0 {
				defs = append(defs, 1)
				longs = append(longs, c.values[row])
			} else {
				defs = append(defs, 0)
			}
		}
		b.setLevels(defs)
		b.defs = defs
	}
	b.longs = longs
	if len(longs) == 0 {
		b.encoding = format.Plain
		return
	}
	low, high, _ := longKind.bounds(longs)
	b.bounds(low, high)
	if b.plain {
		b.plainLongs(longs)
		return
	}
	e := delta.BinaryPackedEncoding{}
	data, err := e.EncodeInt64(b.data[:0], longs)
	if err != nil { // any numbers can be encoded
		panic(err)
	}
	b.data = data
}

// seqColumn holds the position of each row in its item.
type seqColumn struct{ values []int32 }

func (c *seqColumn) reset() { c.values = c.values[:0] }

func (c *seqColumn) encode(b *chunk, group *rowOrder) {
	b.values = len(group.rows)
	b.encoding = format.DeltaBinaryPacked
	b.random = true
	ints := b.ints[:0]
	for _, row := range group.rows {
		ints = append(ints, c.values[row])
	}
	b.ints = ints
	if b.plain {
		b.plainInts(ints)
		return
	}
	e := delta.BinaryPackedEncoding{}
	data, err := e.EncodeInt32(b.data[:0], ints)
	if err != nil {
		panic(err)
	}
	b.data = data
}

// dayColumn holds the day that all rows of a file share.
type dayColumn struct{ day int32 }

func (c *dayColumn) reset() {}

func (c *dayColumn) encode(b *chunk, group *rowOrder) {
	b.values = len(group.rows)
	b.encoding = format.RLEDictionary
	b.entries = 1
	b.dictionary = binary.LittleEndian.AppendUint32(b.dictionary, uint32(c.day))
	b.data = constantLevel(append(b.data, 1), b.values, 0)
	day := bytes.Clone(b.dictionary) // the buffer is used again before the footer is written
	b.bounds(day, day)
}

// sparseColumn holds values that few rows have: squares, columns of process rows. Each value takes size bytes
// in PLAIN encoding.
type sparseColumn struct {
	size   int
	bits   bool       // values are single bits, one byte each until encoded
	rows   rowNumbers // place among the values, null for none
	values []byte
}

func (c *sparseColumn) addNull() { c.rows.appendNumber(null) }

func (c *sparseColumn) next() { c.rows.appendNumber(int32(len(c.values) / c.size)) }

func (c *sparseColumn) addDouble(v float64) {
	c.next()
	c.values = appendDouble(c.values, v)
}

func (c *sparseColumn) addKnown(v float64, known bool) {
	if known {
		c.addDouble(v)
	} else {
		c.addNull()
	}
}

func (c *sparseColumn) addLong(v int64) {
	c.next()
	c.values = appendLong(c.values, v)
}

func (c *sparseColumn) addBool(v bool) {
	c.next()
	if v {
		c.values = append(c.values, 1)
	} else {
		c.values = append(c.values, 0)
	}
}

func (c *sparseColumn) reset() {
	c.rows.reset()
	c.values = c.values[:0]
}

func (c *sparseColumn) encode(b *chunk, group *rowOrder) {
	b.values = len(group.rows)
	if len(c.values) == 0 {
		b.nulls = b.values
		b.levels = constantLevel(b.levels, b.values, 0)
		return
	}
	defs := b.defs[:0]
	for _, row := range group.rows {
		i := int(c.rows.at(row))
		if i < 0 {
			defs = append(defs, 0)
			continue
		}
		defs = append(defs, 1)
		b.data = append(b.data, c.values[i*c.size:(i+1)*c.size]...)
	}
	b.setLevels(defs)
	b.defs = defs
	if c.bits {
		b.data = packBits(b.data)
	}
}

// packBits turns one byte per value into one bit per value, in place.
func packBits(values []byte) []byte {
	n := (len(values) + 7) / 8
	for i := range n {
		var x byte
		for j := 0; j < 8 && 8*i+j < len(values); j++ {
			x |= values[8*i+j] << j
		}
		values[i] = x
	}
	return values[:n]
}
