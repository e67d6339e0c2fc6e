package parquet

import (
	"unsafe"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
)

// table holds the rows of one file by column. It has a leaf for each leaf of the schema, made from the
// list of columns (leaf.go). Some columns also have a field of their own.
type table struct {
	leaves []leaf
	common []commonColumn
	rare   []rareColumn
	plain  int // number of last rows that the rare columns have not been given yet
	// A row has rare values if any of these columns has a value.
	rareTexts []columns.Field[string]
	rareLists []columns.Field[methodspan.Histogram]
	rareKnown []func(*methodspan.Row) bool

	day           dayColumn
	resources     resources
	start, end    timeColumn // the end is required in files for other programs, see ExchangeEncoder
	class, method stringColumn
	bins          []*listColumn // the bins of all histogram columns
}

// commonColumn is a column that most rows have a value of. The three most frequent kinds are handled
// without calling a function value for each row.
type commonColumn struct {
	kind     commonKind
	required bool
	text     columns.Field[string]
	texts    *stringColumn
	long     columns.Field[int64]
	longs    *longColumn
	double   columns.Field[float64]
	doubles  *doubleColumn
	add      func(*methodspan.Row) // for commonOther
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

// set adds the rows, which must all belong to one date.
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

// isPlain reports whether a row has no value in the rare columns, as most measured calls and counts.
// The rare columns get the NULLs of consecutive plain rows at once.
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

// addPlain adds NULLs for the pending plain rows to the rare columns.
func (t *table) addPlain() {
	if t.plain == 0 {
		return
	}
	for _, c := range t.rare {
		c.addNulls(t.plain)
	}
	t.plain = 0
}

// addEnd adds the end of a row. It adds NULL if the end can be derived from other columns and is optional.
func (t *table) addEnd(start, wall, end int64, timed bool) {
	if timed && !t.end.required && endFollows(start, wall, end) {
		t.end.addNull()
	} else {
		t.end.appendTime(end)
	}
}

// endFollows reports whether end is start plus wall time. It reports false if the sum overflows INT64,
// because readers that compute it would fail.
func endFollows(start, wall, end int64) bool {
	sum := start + wall
	return sum == end && (wall < 0) == (sum < start)
}
