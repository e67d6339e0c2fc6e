package parquet

import (
	"encoding/binary"
	"math"
	"strings"
	"unsafe"

	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// dictColumn holds repeated values: names, rates, small counts. It numbers them in arrival order and stores the
// numbers, or the values themselves if too few repeat.
type dictColumn[K comparable] struct {
	kind     valueKind[K]
	required bool
	rows     rowNumbers  // the value's number, null for none
	per      *rowNumbers // if not nil, maps each row to its index in rows
	numbers  map[K]int32
	values   []K
	nulls    int
	last     K // of the previous row; usually the same again
	lastAt   int32
	recent   []numbered[K] // by slot, to avoid map lookups
	remap    []int32
}

// numbered is a value with its number. place is the number plus one, so that zero means no value.
type numbered[K comparable] struct {
	value K
	place int32
}

const (
	null        = int32(-1)
	recentSlots = 1024
)

// valueKind contains the operations that depend on the type of the values.
type valueKind[K comparable] struct {
	clean func(v K) K                  // if not nil, returns the value to store
	plain func(dst []byte, v K) []byte // PLAIN encoding
	slot  func(v K) uint64             // slot of the value in the cache; affects speed only
	// bounds are the smallest and the largest value as statistics hold them,
	// false if they have none.
	bounds func(values []K) (low, high []byte, ok bool)
}

// appendValue adds the next row's value.
func (c *dictColumn[K]) appendValue(v K) {
	if v != c.last || c.lastAt == null {
		c.last, c.lastAt = v, c.number(v)
	}
	c.rows.appendNumber(c.lastAt)
}

// number returns the number of a value and adds new values to the column.
func (c *dictColumn[K]) number(v K) int32 {
	slot := c.slot(v)
	if slot.place == 0 || slot.value != v {
		*slot = numbered[K]{v, c.lookup(v) + 1}
	}
	return slot.place - 1
}

// slot returns the cache slot of a value.
func (c *dictColumn[K]) slot(v K) *numbered[K] {
	if c.recent == nil {
		c.recent = make([]numbered[K], recentSlots)
	}
	return &c.recent[c.kind.slot(v)%recentSlots]
}

func (c *dictColumn[K]) lookup(v K) int32 {
	n, ok := c.numbers[v]
	if !ok {
		n = int32(len(c.values))
		c.numbers[v] = n
		if c.kind.clean != nil {
			v = c.kind.clean(v)
		}
		c.values = append(c.values, v)
	}
	return n
}

func (c *dictColumn[K]) addNull() {
	c.nulls++
	c.rows.appendNumber(null)
}

func (c *dictColumn[K]) addNulls(n int) {
	c.nulls += n
	c.rows.addSame(null, n)
}

func (c *dictColumn[K]) addSame(v K, n int) { c.rows.addSame(c.number(v), n) }

func (c *dictColumn[K]) reset() {
	if c.numbers == nil || len(c.values) > 1024 {
		c.numbers = map[K]int32{}
	} else {
		clear(c.numbers)
	}
	clear(c.values) // let go of the strings
	clear(c.recent)
	var zero K
	c.rows.reset()
	c.values, c.nulls, c.last, c.lastAt = c.values[:0], 0, zero, null
}

func (c *dictColumn[K]) encode(b *chunk, group *rowOrder) {
	n := len(group.rows)
	b.values = n
	if len(c.values) == 0 {
		b.nulls = n
		b.levels = constantLevel(b.levels, n, 0)
		return
	}
	if len(c.values) == 1 && c.nulls == 0 {
		c.encodeConstant(b, n)
		return
	}
	indexes := c.gather(b, group)
	values := c.values
	if !group.all {
		values = c.compact(indexes)
	}
	if len(indexes) == 0 {
		return // nothing but nulls in this group
	}
	if low, high, ok := c.kind.bounds(values); ok {
		b.bounds(low, high)
	}
	if 2*len(values) > len(indexes) && len(values) > 16 {
		b.encoding = format.Plain
		for _, i := range indexes {
			b.data = c.kind.plain(b.data, values[i])
		}
		return
	}
	c.setDictionary(b, values)
	e := rle.DictionaryEncoding{}
	data, err := e.EncodeInt32(b.data[:0], indexes)
	if err != nil { // indexes are never too wide
		panic(err)
	}
	b.data = data
}

func (c *dictColumn[K]) setDictionary(b *chunk, values []K) {
	b.encoding = format.RLEDictionary
	b.entries = len(values)
	for _, v := range values {
		b.dictionary = c.kind.plain(b.dictionary, v)
	}
}

// encodeConstant writes the most common case, one value in all rows, without reading the rows.
func (c *dictColumn[K]) encodeConstant(b *chunk, n int) {
	c.setDictionary(b, c.values)
	if !c.required {
		b.levels = constantLevel(b.levels, n, 1)
	}
	b.data = constantLevel(append(b.data, 1), n, 0) // one bit wide
	if low, high, ok := c.kind.bounds(c.values); ok {
		b.bounds(low, high)
	}
}

// gather collects the numbers of the group's rows in its order and sets the levels.
func (c *dictColumn[K]) gather(b *chunk, group *rowOrder) []int32 {
	indexes := b.indexes[:0]
	if c.nulls == 0 {
		for _, row := range group.rows {
			indexes = append(indexes, c.at(row))
		}
		if !c.required {
			b.levels = constantLevel(b.levels, len(group.rows), 1)
		}
	} else {
		defs := b.defs[:0]
		for _, row := range group.rows {
			if i := c.at(row); i != null {
				indexes = append(indexes, i)
				defs = append(defs, 1)
			} else {
				defs = append(defs, 0)
			}
		}
		b.setLevels(defs)
		b.defs = defs
	}
	b.indexes = indexes
	return indexes
}

// at returns the number of the row's value.
func (c *dictColumn[K]) at(row int32) int32 {
	if c.per != nil {
		row = c.per.at(row)
	}
	return c.rows.at(row)
}

// compact renumbers the indexes so that only the values in the group have numbers.
func (c *dictColumn[K]) compact(indexes []int32) []K {
	c.remap = c.remap[:0]
	for range c.values {
		c.remap = append(c.remap, null)
	}
	var values []K
	for i, old := range indexes {
		if c.remap[old] == null {
			c.remap[old] = int32(len(values))
			values = append(values, c.values[old])
		}
		indexes[i] = c.remap[old]
	}
	return values
}

// mixer spreads numbers over the upper bits of a product (the golden ratio).
const mixer = 0x9e3779b97f4a7c15

// stringKind stores valid UTF-8 only, because a reader can reject a whole file for one invalid name.
var stringKind = valueKind[string]{
	clean: validName,
	// Rows share their names, so the address of a name usually identifies it.
	slot: func(v string) uint64 {
		return uint64(uintptr(unsafe.Pointer(unsafe.StringData(v)))) * mixer >> 48
	},
	plain: func(dst []byte, v string) []byte {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v)))
		return append(dst, v...)
	},
	bounds: func(values []string) (low, high []byte, ok bool) {
		lo, hi := values[0], values[0]
		for _, v := range values[1:] {
			lo, hi = min(lo, v), max(hi, v)
		}
		return []byte(lo), []byte(hi), true
	},
}

func validName(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

var longKind = valueKind[int64]{
	slot:  func(v int64) uint64 { return uint64(v) * mixer >> 48 },
	plain: appendLong,
	bounds: func(values []int64) (low, high []byte, ok bool) {
		lo, hi := values[0], values[0]
		for _, v := range values[1:] {
			lo, hi = min(lo, v), max(hi, v)
		}
		return appendLong(nil, lo), appendLong(nil, hi), true
	},
}

// doubleKind compares doubles by their bits, so that NaN is one value although it does not equal itself.
var doubleKind = valueKind[uint64]{
	slot:  func(v uint64) uint64 { return v * mixer >> 48 },
	plain: func(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) },
	bounds: func(values []uint64) (low, high []byte, ok bool) {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, bits := range values {
			v := math.Float64frombits(bits)
			if math.IsNaN(v) {
				return nil, nil, false // statistics cannot represent NaN
			}
			lo, hi = min(lo, v), max(hi, v)
		}
		return doubleBound(lo, math.Copysign(0, -1)), doubleBound(hi, 0), true
	},
}

// doubleBound encodes a bound of zero with the sign that includes both zeros.
func doubleBound(v, zero float64) []byte {
	if v == 0 {
		v = zero
	}
	return appendDouble(nil, v)
}

type (
	stringColumn struct{ dictColumn[string] }
	longColumn   struct{ dictColumn[int64] }
	doubleColumn struct{ dictColumn[uint64] }
)

// appendName adds the next row's name. Rows share their names: a name at the same address as the last one or a
// recently numbered one is not compared.
func (c *stringColumn) appendName(v string) {
	if c.lastAt != null && samePlace(v, c.last) {
		c.rows.appendNumber(c.lastAt)
		return
	}
	if slot := c.slot(v); slot.place != 0 && samePlace(v, slot.value) {
		c.last, c.lastAt = v, slot.place-1
		c.rows.appendNumber(c.lastAt)
		return
	}
	c.dictColumn.appendValue(v)
}

func samePlace(a, b string) bool {
	return unsafe.StringData(a) == unsafe.StringData(b) && len(a) == len(b)
}

// addName adds a name, "" for unknown.
func (c *stringColumn) addName(v string) {
	if v == "" {
		c.addNull()
	} else {
		c.appendName(v)
	}
}

func (c *doubleColumn) addDouble(v float64) { c.appendValue(math.Float64bits(v)) }

func (c *doubleColumn) addPointer(v *float64) {
	if v == nil {
		c.addNull()
	} else {
		c.appendValue(math.Float64bits(*v))
	}
}

func optionalString() stringColumn {
	return stringColumn{dictColumn[string]{kind: stringKind}}
}
