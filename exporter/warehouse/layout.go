package warehouse

import (
	"reflect"
	"slices"
	"sync"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
)

// layout lists the columns of an encoded row by Go type, each list in the order of columns.All.
// The columns in derivedColumns are encoded separately.
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

// optional is a column that exists only in rows whose mask has the bit.
type optional[T any] struct {
	columns.Field[T]
	bit uint64
}

// encodingVersion is the first byte of every queued request. It must be raised when a column is
// added, because that changes the layout.
const encodingVersion = 1

// rowLayout returns the layout of the current columns.
var rowLayout = sync.OnceValue(func() *layout {
	l, bit := &layout{}, uint64(1)
	for _, c := range columns.All {
		if slices.Contains(derivedColumns, c.Name) {
			continue
		}
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
})

// derivedColumns are derived from the item or encoded as differences.
var derivedColumns = []string{"event_date", "start_ns", "end_ns", "batch_id", "row_seq"}

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
