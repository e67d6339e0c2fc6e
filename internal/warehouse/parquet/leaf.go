package parquet

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
)

// leaf is a leaf column of the schema, with the rules for copying it in a merge.
type leaf struct {
	path []string
	column
	codec   format.CompressionCodec // in the file that is being written
	decided bool
	fill    func() // set for columns of resources: adds the resources' values, once all rows are known
	unit
}

// A unit is a group of adjacent leaves that are copied together, because they derive from the same
// values. The first leaf of a unit describes it.
type unit struct {
	leaves int      // 0: it belongs to the unit of an earlier leaf
	paths  []string // columns to read for it
	copy   func(*copier)
	starts bool // it contains the start times of the rows
}

// addColumn adds the leaves of column c, chosen by the type of the field that holds it.
func (t *table) addColumn(c *columns.Column) {
	part := c.Part()
	i := len(t.leaves)
	switch goType := c.GoType(); {
	case goType == nil:
		t.addLeaf(c.Name, &t.day, func(*copier) {})
		t.leaves[i].paths = nil // the day is known from the file
	case part == columns.OfResource:
		t.addOfResource(c)
	case goType == reflect.TypeFor[string]():
		t.addTexts(c)
	case c.Name == "start_ns":
		t.addLeaf(c.Name, &t.start, func(copy *copier) { copy.times(&t.start, i) })
		t.leaves[i].starts = true
		t.common = append(t.common, commonColumn{add: func(r *methodspan.Row) { t.start.appendTime(r.StartNS) }})
	case c.Name == "end_ns":
		t.addLeaf(c.Name, &t.end, func(copy *copier) { copy.times(&t.end, i) })
		t.common = append(t.common, commonColumn{add: func(r *methodspan.Row) { t.addEnd(r.StartNS, r.WallNS, r.EndNS, r.Measured > 0) }})
	case goType == reflect.TypeFor[int64]() && c.Varies:
		t.addTimes(c)
	case c.Rare && goType == reflect.TypeFor[int64]():
		addSparse(t, c, 8, (*sparseColumn).addLong)
	case c.Rare && goType == reflect.TypeFor[float64]():
		addSparse(t, c, 8, (*sparseColumn).addDouble)
	case goType == reflect.TypeFor[bool]():
		addSparse(t, c, 1, (*sparseColumn).addBool)
	case goType == reflect.TypeFor[int64]():
		to, field := &longColumn{dictColumn[int64]{kind: longKind, required: true}}, columns.FieldOf[int64](c.Name)
		t.addLeaf(c.Name, to, func(copy *copier) { copy.counts(to, i) })
		t.common = append(t.common, commonColumn{kind: commonLong, long: field, longs: to})
	case goType == reflect.TypeFor[float64]():
		to, field := &doubleColumn{dictColumn[uint64]{kind: doubleKind, required: c.Required}}, columns.FieldOf[float64](c.Name)
		t.addLeaf(c.Name, to, func(copy *copier) { copy.doubles(to, i) })
		t.common = append(t.common, commonColumn{kind: commonDouble, required: c.Required, double: field, doubles: to})
	case goType == reflect.TypeFor[*float64]():
		to, field := &doubleColumn{dictColumn[uint64]{kind: doubleKind}}, columns.FieldOf[*float64](c.Name)
		t.addLeaf(c.Name, to, func(copy *copier) { copy.doubles(to, i) })
		t.common = append(t.common, commonColumn{add: func(r *methodspan.Row) { to.addPointer(*field.At(unsafe.Pointer(r))) }})
	case goType == reflect.TypeFor[int32]():
		to, field := &seqColumn{}, columns.FieldOf[int32](c.Name)
		t.addLeaf(c.Name, to, func(copy *copier) { copy.seqs(to, i) })
		t.common = append(t.common, commonColumn{add: func(r *methodspan.Row) { to.values = append(to.values, *field.At(unsafe.Pointer(r))) }})
	case goType.Kind() == reflect.Array:
		t.addIDs(c, goType.Len())
	case goType == reflect.TypeFor[methodspan.Histogram]():
		t.addHistograms(c)
	case goType == reflect.TypeFor[[]methodspan.Stat]():
		t.addStats(c)
	default:
		panic(fmt.Sprintf("no column of a file holds %v, as %s is", goType, c.Name))
	}
}

// addLeaf adds the leaf at path. In a merge it is copied from the column of the same path.
func (t *table) addLeaf(path string, c column, copy func(*copier)) {
	t.leaves = append(t.leaves, leaf{path: strings.Split(path, "."), column: c, unit: unit{leaves: 1, paths: []string{path}, copy: copy}})
}

// addTexts adds a string column. In an optional column "" means unknown.
func (t *table) addTexts(c *columns.Column) {
	to := &stringColumn{dictColumn[string]{kind: stringKind, required: c.Required}}
	switch c.Name {
	case "class":
		to = &t.class
	case "method":
		to = &t.method
	}
	field, i := columns.FieldOf[string](c.Name), len(t.leaves)
	t.addLeaf(c.Name, to, func(copy *copier) { copy.names(to, i) })
	if c.Rare {
		t.rare = append(t.rare, rareColumn{func(r *methodspan.Row) { to.addName(*field.At(unsafe.Pointer(r))) }, to.addNulls})
		t.rareTexts = append(t.rareTexts, field)
		return
	}
	t.common = append(t.common, commonColumn{kind: commonText, required: c.Required, text: field, texts: to})
}

// addOfResource adds a column whose values derive from the resources; its fill function adds them once
// all rows are known.
func (t *table) addOfResource(c *columns.Column) {
	var to column
	var fill func()
	if c.Type == columns.String {
		texts, field := &stringColumn{dictColumn[string]{kind: stringKind, per: &t.resources.rows}}, columns.FieldOf[string](c.Name)
		to, fill = texts, func() {
			for _, r := range t.resources.values {
				texts.addName(*field.At(unsafe.Pointer(r)))
			}
		}
	} else {
		longs, field := &longColumn{dictColumn[int64]{kind: longKind, per: &t.resources.rows}}, columns.FieldOf[int64](c.Name)
		to, fill = longs, func() {
			for _, r := range t.resources.values {
				if v := *field.At(unsafe.Pointer(r)); v != 0 {
					longs.appendValue(v)
				} else {
					longs.addNull()
				}
			}
		}
	}
	n := len(t.leaves)
	t.addLeaf(c.Name, to, nil)
	t.leaves[n].fill = fill
	first := n
	for first > 0 && t.leaves[first-1].fill != nil {
		first--
	}
	t.leaves[n].leaves = 0
	t.leaves[first].unit = unit{leaves: n + 1 - first, copy: func(copy *copier) {
		copy.resources(&t.resources)
		for i := first; i <= n; i++ {
			t.leaves[i].fill()
		}
	}}
}

// addTimes adds a column of integers that differ from row to row.
func (t *table) addTimes(c *columns.Column) {
	to, field, known, i := &timeColumn{}, columns.FieldOf[int64](c.Name), c.Known(), len(t.leaves)
	addRow := func(r *methodspan.Row) {
		if known(r) {
			to.appendTime(*field.At(unsafe.Pointer(r)))
		} else {
			to.addNull()
		}
	}
	t.addLeaf(c.Name, to, func(copy *copier) { copy.times(to, i) })
	if !c.Rare {
		t.common = append(t.common, commonColumn{add: addRow})
		return
	}
	t.rare = append(t.rare, rareColumn{addRow, to.addNulls})
	t.rareKnown = append(t.rareKnown, known)
}

// addSparse adds a column that few rows have a value of. Each value has size bytes.
func addSparse[T comparable](t *table, c *columns.Column, size int, addValue func(*sparseColumn, T)) {
	to, field, part, known, i := &sparseColumn{size: size, bits: size == 1}, columns.FieldOf[T](c.Name), c.Part(), c.Known(), len(t.leaves)
	if known == nil {
		known = func(r *methodspan.Row) bool {
			var zero T
			return *field.At(part.In(r)) != zero
		}
	}
	t.addLeaf(c.Name, to, func(copy *copier) { copy.sparse(to, i) })
	t.rare = append(t.rare, rareColumn{func(r *methodspan.Row) {
		at := part.In(r)
		if at == nil || !known(r) {
			to.addNull()
			return
		}
		addValue(to, *field.At(at))
	}, func(n int) { to.rows.addSame(null, n) }})
	if part == columns.OfRow {
		t.rareKnown = append(t.rareKnown, known)
	}
}

// addIDs adds a column of ids of size bytes.
func (t *table) addIDs(c *columns.Column, size int) {
	to, i := &idColumn{size: size}, len(t.leaves)
	t.addLeaf(c.Name, to, func(copy *copier) { copy.ids(to, i) })
	if size == 16 {
		field := columns.FieldOf[[16]byte](c.Name)
		t.common = append(t.common, commonColumn{add: func(r *methodspan.Row) { to.appendID(field.At(unsafe.Pointer(r))[:]) }})
		return
	}
	field := columns.FieldOf[[8]byte](c.Name)
	t.common = append(t.common, commonColumn{add: func(r *methodspan.Row) { to.appendID(field.At(unsafe.Pointer(r))[:]) }})
}

// addLists adds the two leaves of a list that few rows have. of returns the elements of a row, and
// addElement adds one element to both leaves.
func addLists[E any](t *table, c *columns.Column, first, second *listColumn, of func(*methodspan.Row) []E, addElement func(E)) {
	t.addLeaf(elementPath(c, 0), first, nil)
	t.addLeaf(elementPath(c, 1), second, nil)
	t.rare = append(t.rare, rareColumn{func(r *methodspan.Row) {
		elements := of(r)
		first.beginAny(len(elements))
		second.beginAny(len(elements))
		for _, e := range elements {
			addElement(e)
		}
	}, func(n int) { first.n, second.n = first.n+n, second.n+n }})
}

func (t *table) addHistograms(c *columns.Column) {
	bins, weights, field, i := &listColumn{size: 4}, &listColumn{size: 8}, columns.FieldOf[methodspan.Histogram](c.Name), len(t.leaves)
	addLists(t, c, bins, weights, func(r *methodspan.Row) []methodspan.Bin { return *field.At(unsafe.Pointer(r)) }, func(b methodspan.Bin) {
		bins.addInt(b.Bin)
		weights.addDouble(b.N)
	})
	t.leaves[i].copy = func(copy *copier) { copyLists(copy, bins, i, func(bin int64) { bins.addInt(int32(bin)) }) }
	t.leaves[i+1].copy = func(copy *copier) { copyLists(copy, weights, i+1, weights.addDouble) }
	t.bins = append(t.bins, bins)
	t.rareLists = append(t.rareLists, field)
}

func (t *table) addStats(c *columns.Column) {
	names, values, field, known, i := &listColumn{}, &listColumn{size: 8}, columns.FieldOf[[]methodspan.Stat](c.Name), c.Known(), len(t.leaves)
	addLists(t, c, names, values, func(r *methodspan.Row) []methodspan.Stat {
		if r.Process == nil || !known(r) {
			return nil
		}
		return *field.At(unsafe.Pointer(r.Process))
	}, func(s methodspan.Stat) {
		names.addString(s.Name)
		values.addDouble(s.Value)
	})
	t.leaves[i].copy = func(copy *copier) { copyLists(copy, names, i, names.addString) }
	t.leaves[i+1].copy = func(copy *copier) { copyLists(copy, values, i+1, values.addDouble) }
}

// elementPath returns the path of a field of the list elements of column c.
func elementPath(c *columns.Column, field int) string {
	return c.Name + ".list.element." + c.Fields[field].Name
}
