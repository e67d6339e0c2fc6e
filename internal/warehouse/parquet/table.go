package parquet

import (
	"unsafe"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
)

// table holds the rows of one file by column: a leaf for each leaf of the schema, made from the
// table of columns (leaf.go). Some it also knows by name.
type table struct {
	leaves []leaf
	common []commonColumn
	rare   []rareColumn
	plain  int // of the last rows, those that rare columns have yet to get
	// Rows have rare values if any of these has one.
	rareTexts []columns.Field[string]
	rareLists []columns.Field[methodspan.Histogram]
	rareKnown []func(*methodspan.Row) bool

	day           dayColumn
	resources     resources
	start, end    timeColumn // the end is required in files for other programs, see ExchangeEncoder
	class, method stringColumn
	bins          []*listColumn // of histograms
}

// commonColumn is a column that most rows have a value of. Most are of three kinds, which take
// no call of a function value each.
type commonColumn struct {
	kind     commonKind
	required bool
	text     columns.Field[string]
	texts    *stringColumn
	long     columns.Field[int64]
	longs    *longColumn
	double   columns.Field[float64]
	doubles  *doubleColumn
	add      func(*methodspan.Row) // of another kind
}

type commonKind uint8

const (
	commonOther commonKind = iota
	commonText
	commonLong
	commonDouble
)

// rareColumn is a column that few rows have a value of.
type rareColumn struct {
	add      func(*methodspan.Row)
	addNulls func(n int)
}

func newTable() *table {
	t := &table{start: timeColumn{required: true}, class: optionalString(), method: optionalString()}
	for i := range columns.All {
		t.addColumn(&columns.All[i])
	}
	return t
}

// set takes over the rows of one date.
func (t *table) set(rows []*methodspan.Row) {
	t.day.day = rows[0].EventDay()
	for _, r := range rows {
		t.addRow(r)
	}
	t.addPlain()
	for i := range t.leaves {
		if fill := t.leaves[i].fill; fill != nil {
			fill()
		}
	}
}

func (t *table) addRow(r *methodspan.Row) {
	t.resources.appendResource(r.Resource)
	part := unsafe.Pointer(r)
	for i := range t.common {
		switch c := &t.common[i]; c.kind {
		case commonText:
			if v := *c.text.At(part); v != "" || c.required {
				c.texts.appendName(v)
			} else {
				c.texts.addNull()
			}
		case commonLong:
			c.longs.appendValue(*c.long.At(part))
		case commonDouble:
			if v := *c.double.At(part); v != 0 || c.required {
				c.doubles.addDouble(v)
			} else {
				c.doubles.addNull()
			}
		default:
			c.add(r)
		}
	}
	if t.isPlain(r) {
		t.plain++
		return
	}
	t.addPlain()
	for _, c := range t.rare {
		c.add(r)
	}
}

// isPlain reports whether a row has none of what few rows have, as most measured
// calls and counts do. Its columns get all such rows at once.
func (t *table) isPlain(r *methodspan.Row) bool {
	if r.Process != nil {
		return false
	}
	part := unsafe.Pointer(r)
	for _, f := range t.rareTexts {
		if *f.At(part) != "" {
			return false
		}
	}
	for _, f := range t.rareLists {
		if len(*f.At(part)) > 0 {
			return false
		}
	}
	for _, known := range t.rareKnown {
		if known(r) {
			return false
		}
	}
	return true
}

// addPlain adds the plain rows to the columns that few rows have.
func (t *table) addPlain() {
	if t.plain == 0 {
		return
	}
	for _, c := range t.rare {
		c.addNulls(t.plain)
	}
	t.plain = 0
}

// addEnd adds the end of a row unless it follows from other columns and may be left out.
func (t *table) addEnd(start, wall, end int64, timed bool) {
	if timed && !t.end.required && endFollows(start, wall, end) {
		t.end.addNull()
	} else {
		t.end.appendTime(end)
	}
}

// endFollows reports whether a row ends when its start and its wall time say. A sum that
// INT64 does not hold says nothing: readers that add it up would fail.
func endFollows(start, wall, end int64) bool {
	sum := start + wall
	return sum == end && (wall < 0) == (sum < start)
}
