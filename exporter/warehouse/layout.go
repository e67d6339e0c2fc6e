package warehouse

import (
	"reflect"
	"slices"
	"sync"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
)

// layout is which columns a version of the queue's encoding has, in its order: by type, and
// columns that came later behind those before. The start and the end of a row, its place and
// its item stand apart.
type layout struct {
	texts      []columns.Field[string]
	longs      []columns.Field[int64]
	doubles    []optional[float64]
	histograms []optional[methodspan.Histogram]
	prices     []optional[*float64]
	ids16      []optional[[16]byte]
	ids8       []optional[[8]byte]
	processBit uint64

	resource struct {
		texts []columns.Field[string]
		longs []columns.Field[int64]
	}
	process struct {
		doubles []columns.Field[float64]
		longs   []columns.Field[int64]
		bools   []columns.Field[bool]
		stats   []columns.Field[[]methodspan.Stat]
	}
}

// optional is a column that only rows have whose mask has the bit.
type optional[T any] struct {
	columns.Field[T]
	bit uint64
}

// The first layout has the columns of the first schemas, each later one those of one more.
const (
	oldestLayout = 1
	firstSchema  = 2
)

var newestLayout = byte(columns.Version - firstSchema + oldestLayout)

// layouts are all that are read, the oldest first; the last one is written.
var layouts = sync.OnceValue(func() (all []*layout) {
	for version := byte(oldestLayout); version <= newestLayout; version++ {
		all = append(all, layoutOf(version))
	}
	return all
})

func layoutOf(version byte) *layout {
	l, bit := &layout{}, uint64(1)
	for _, c := range columnsSince(int(version) - oldestLayout + firstSchema) {
		switch c.Part() {
		case columns.OfResource:
			field(&l.resource.texts, c)
			field(&l.resource.longs, c)
		case columns.OfProcess:
			if l.processBit == 0 {
				l.processBit = bit
				bit <<= 1
			}
			field(&l.process.doubles, c)
			field(&l.process.longs, c)
			field(&l.process.bools, c)
			field(&l.process.stats, c)
		default:
			field(&l.texts, c)
			field(&l.longs, c)
			bit = optionalField(&l.doubles, c, bit)
			bit = optionalField(&l.histograms, c, bit)
			bit = optionalField(&l.prices, c, bit)
			bit = optionalField(&l.ids16, c, bit)
			bit = optionalField(&l.ids8, c, bit)
		}
	}
	return l
}

// apart are the columns that follow from the item, or are written as differences.
var apart = []string{"event_date", "start_ns", "end_ns", "batch_id", "row_seq"}

// columnsSince lists the columns of a version of the schema in the order in which they came.
func columnsSince(schema int) []columns.Column {
	list := slices.DeleteFunc(slices.Clone(columns.All), func(c columns.Column) bool { return c.Since > schema || slices.Contains(apart, c.Name) })
	slices.SortStableFunc(list, func(a, b columns.Column) int { return max(a.Since, firstSchema) - max(b.Since, firstSchema) })
	return list
}

// field adds the column to the fields of its type.
func field[T any](to *[]columns.Field[T], c columns.Column) {
	if c.GoType() == reflect.TypeFor[T]() {
		*to = append(*to, columns.FieldOf[T](c.Name))
	}
}

func optionalField[T any](to *[]optional[T], c columns.Column, bit uint64) uint64 {
	if c.GoType() != reflect.TypeFor[T]() {
		return bit
	}
	*to = append(*to, optional[T]{columns.FieldOf[T](c.Name), bit})
	return bit << 1
}
