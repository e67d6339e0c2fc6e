package parquet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
)

// block is one row group, read column by column. That takes a tenth of the time of the library's row reader.
// Rows are built from it one at a time, because columns take a fifth of the memory of rows.
type block struct {
	rows    int
	columns []blockColumn           // the leaves of the schema, in its order
	fields  []columns.Field[string] // of resource
	present []int                   // columns that have a value in any row and that rows are built from

	// Columns that other columns are derived from.
	start, end, wall, processStart, final *longs
	class, method, kind                   *nameVector
	resource                              []*nameVector
	service, version                      *nameVector

	resources map[resourceKey]*methodspan.Resource
	last      resourceKey
	lastRes   *methodspan.Resource
	// The resource numbers by row, if only the resources are kept.
	resourceAt rowNumbers
	distinct   []*methodspan.Resource
}

// blockColumn is a leaf of the schema and the setter for its values.
type blockColumn struct {
	path string // as in wall_hist.list.element.bin
	vector
	skip bool // it is not read
	// set sets the value in a row; nil if another column's setter does.
	set func(i int, r *methodspan.Row)
}

// resourceKey identifies a resource within one row group by the positions of its names.
type resourceKey struct {
	names [maxResourceNames]int32
	start int64
}

const maxResourceNames = 16

// newBlock creates a block that reads the columns for which want returns true, or all if want is nil.
func newBlock(want func(path string) bool, intern func(string) string) *block {
	b := &block{resources: map[resourceKey]*methodspan.Resource{}}
	for i := range columns.All {
		b.addColumn(&columns.All[i], intern)
	}
	for i := range b.columns {
		c := &b.columns[i]
		c.skip = c.vector == nil || want != nil && !want(c.path)
	}
	return b
}

// addColumn adds a column according to the type of the row field that holds it.
func (b *block) addColumn(c *columns.Column, intern func(string) string) {
	add := func(v vector, set func(i int, r *methodspan.Row)) {
		b.columns = append(b.columns, blockColumn{path: c.Name, vector: v, set: set})
	}
	switch c.GoType() {
	case nil: // the date, which follows from the start
		add(nil, nil)
	case reflect.TypeFor[string]():
		b.addTexts(c, intern)
	case reflect.TypeFor[int64]():
		v := &longs{page: longsOf}
		add(v, setter(c, v, func(field *int64, x int64) { *field = x }))
		if to := map[string]**longs{"start_ns": &b.start, "end_ns": &b.end, "wall_ns": &b.wall, "process_start_ns": &b.processStart}[c.Name]; to != nil {
			*to = v
		}
		if c.Part() == columns.OfResource {
			b.columns[len(b.columns)-1].set = nil
		}
	case reflect.TypeFor[int32]():
		v := &longs{page: longsOf}
		add(v, setter(c, v, func(field *int32, x int64) { *field = int32(x) }))
	case reflect.TypeFor[bool]():
		v := &longs{page: longsOf}
		add(v, setter(c, v, func(field *bool, x int64) { *field = x != 0 }))
		if c.Name == "final" {
			b.final = v
		}
	case reflect.TypeFor[float64]():
		v := &doubles{page: doublesOf}
		add(v, setter(c, v, func(field *float64, x float64) { *field = x }))
	case reflect.TypeFor[*float64]():
		v := &doubles{page: doublesOf}
		add(v, setter(c, v, func(field **float64, x float64) { *field = &x }))
	case reflect.TypeFor[[16]byte]():
		v, field := &idVector{size: 16}, columns.FieldOf[[16]byte](c.Name)
		add(v, func(i int, r *methodspan.Row) { v.get(i, field.At(unsafe.Pointer(r))[:]) })
	case reflect.TypeFor[[8]byte]():
		v, field := &idVector{size: 8}, columns.FieldOf[[8]byte](c.Name)
		add(v, func(i int, r *methodspan.Row) { v.get(i, field.At(unsafe.Pointer(r))[:]) })
	case reflect.TypeFor[methodspan.Histogram]():
		bins, counts, field := &listVector[int64]{page: inLists(longsOf)}, &listVector[float64]{page: inLists(doublesOf)}, columns.FieldOf[methodspan.Histogram](c.Name)
		add(bins, func(i int, r *methodspan.Row) { *field.At(unsafe.Pointer(r)) = histogramOf(bins, counts, i) })
		add(counts, nil)
		b.nameElements(c)
	case reflect.TypeFor[[]methodspan.Stat]():
		names, values, field := &listVector[string]{page: textsOf}, &listVector[float64]{page: inLists(doublesOf)}, columns.FieldOf[[]methodspan.Stat](c.Name)
		add(names, func(i int, r *methodspan.Row) {
			if stats := statsOf(names, values, i); len(stats) > 0 {
				*field.At(unsafe.Pointer(processOf(r))) = stats
			}
		})
		add(values, nil)
		b.nameElements(c)
	default:
		panic(fmt.Sprintf("no column of a file is read as %v, as %s is", c.GoType(), c.Name))
	}
}

func (b *block) addTexts(c *columns.Column, intern func(string) string) {
	v, field := &nameVector{}, columns.FieldOf[string](c.Name)
	if !c.Unbounded {
		v.intern = intern
	}
	if to := map[string]**nameVector{"class": &b.class, "method": &b.method, "kind": &b.kind, "service": &b.service, "version": &b.version}[c.Name]; to != nil {
		*to = v
	}
	column := blockColumn{path: c.Name, vector: v}
	if c.Part() == columns.OfResource {
		b.resource, b.fields = append(b.resource, v), append(b.fields, field)
	} else {
		column.set = func(i int, r *methodspan.Row) { *field.At(unsafe.Pointer(r)) = v.get(i) }
	}
	b.columns = append(b.columns, column)
}

// setter returns a function that copies the numbers of a vector to rows that have a value.
func setter[T any, N int64 | float64](c *columns.Column, v *numberVector[N], set func(*T, N)) func(int, *methodspan.Row) {
	field := columns.FieldOf[T](c.Name)
	if c.Part() == columns.OfProcess {
		return func(i int, r *methodspan.Row) {
			if x, ok := v.get(i); ok {
				set(field.At(unsafe.Pointer(processOf(r))), x)
			}
		}
	}
	return func(i int, r *methodspan.Row) {
		if x, ok := v.get(i); ok {
			set(field.At(unsafe.Pointer(r)), x)
		}
	}
}

// nameElements sets the paths of the last two columns to those of a list's elements.
func (b *block) nameElements(c *columns.Column) {
	for i := range 2 {
		b.columns[len(b.columns)-2+i].path = elementPath(c, i)
	}
}

// processOf returns the process statistics of a row.
func processOf(r *methodspan.Row) *methodspan.ProcessStats {
	if r.Process == nil {
		r.Process = &methodspan.ProcessStats{CallsTotal: methodspan.TotalNotGiven}
	}
	return r.Process
}

// read loads a row group.
func (b *block) read(schema *pq.Schema, group pq.RowGroup) error {
	b.begin(group)
	if err := b.readColumns(schema, group, b.columns); err != nil {
		return err
	}
	b.present = b.present[:0]
	for i, c := range b.columns {
		if !c.skip && c.set != nil && !c.empty() {
			b.present = append(b.present, i)
		}
	}
	return nil
}

// begin switches to a row group without reading columns.
func (b *block) begin(group pq.RowGroup) {
	b.rows = int(group.NumRows())
	clear(b.resources)
	b.lastRes = nil
}

// readColumns reads columns of the row group. The library can panic on a damaged file; that must only fail
// this read.
func (b *block) readColumns(schema *pq.Schema, group pq.RowGroup, columns []blockColumn) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading it panics: %v", p)
		}
	}()
	chunks := group.ColumnChunks()
	for _, c := range columns {
		if c.skip {
			continue
		}
		c.reset()
		if err := readVector(chunks[c.leaf(schema)], c.vector); err != nil {
			return fmt.Errorf("column %s: %w", c.path, err)
		}
		if n := c.count(); n != b.rows {
			return fmt.Errorf("column %s has %d rows of %d", c.path, n, b.rows)
		}
	}
	return nil
}

// leaf returns the index of the column among the leaves of a schema. openFile ensures that it exists.
func (c *blockColumn) leaf(schema *pq.Schema) int {
	leaf, _ := schema.Lookup(strings.Split(c.path, ".")...)
	return leaf.ColumnIndex
}

// named returns the read columns with the given paths.
func (b *block) named(paths []string) []blockColumn {
	var columns []blockColumn
	for _, c := range b.columns {
		if !c.skip && slices.Contains(paths, c.path) {
			columns = append(columns, c)
		}
	}
	return columns
}

// key returns the sort key of row i.
func (b *block) key(i int) rowKey {
	return rowKey{b.service.get(i), b.class.get(i), b.method.get(i), b.version.get(i), b.start.value(i)}
}

// row fills r with row i. Equal resources are shared within the block.
func (b *block) row(i int, r *methodspan.Row) {
	*r = methodspan.Row{Resource: b.resourceOf(i)}
	for _, at := range b.present {
		b.columns[at].set(i, r)
	}
	r.EndNS = b.endOf(i)
	// The maximum of a single value equals the sum and is not stored.
	if r.Measured == 1 && r.WallMaxNS == 0 {
		r.WallMaxNS = r.WallNS
	}
	if r.CPUMeasured == 1 && r.CPUMaxNS == 0 {
		r.CPUMaxNS = r.CPUNS
	}
	if p := r.Process; p != nil {
		if _, ok := b.final.get(i); !ok { // set in every process row, and NULL in sums of them
			p.Summed, p.CallsTotal = true, 0
		}
	}
}

// endOf returns the end of row i. It is computed if it is derivable, since the file omits it then.
func (b *block) endOf(i int) int64 {
	if end, ok := b.end.get(i); ok {
		return end
	}
	return b.start.value(i) + b.wall.value(i)
}

func statsOf(names *listVector[string], values *listVector[float64], row int) (stats []methodspan.Stat) {
	of := values.get(row)
	for i, name := range names.get(row) {
		if i < len(of) {
			stats = append(stats, methodspan.Stat{Name: name, Value: of[i]})
		}
	}
	return stats
}

func histogramOf(bins *listVector[int64], counts *listVector[float64], row int) methodspan.Histogram {
	from, n := bins.get(row), counts.get(row)
	if len(from) == 0 || len(n) != len(from) {
		return nil
	}
	h := make(methodspan.Histogram, len(from))
	for i := range h {
		h[i] = methodspan.Bin{Bin: int32(from[i]), N: n[i]}
	}
	return h
}

func (b *block) resourceOf(row int) *methodspan.Resource {
	key := resourceKey{start: b.processStart.value(row)}
	for i := range b.resource {
		if at := b.resource[i].at; len(at) > 0 {
			key.names[i] = at[row]
		}
	}
	if b.lastRes != nil && key == b.last {
		return b.lastRes
	}
	res := b.resources[key]
	if res == nil {
		res = &methodspan.Resource{ProcessStartNS: key.start}
		for i, v := range b.resource {
			*b.fields[i].At(unsafe.Pointer(res)) = v.get(row)
		}
		b.resources[key] = res
	}
	b.last, b.lastRes = key, res
	return res
}

// numberResources keeps the resources of the rows when their columns are released.
func (b *block) numberResources() {
	b.resourceAt.reset()
	b.distinct = b.distinct[:0]
	numbers := map[*methodspan.Resource]int32{}
	for i := range b.rows {
		res := b.resourceOf(i)
		n, ok := numbers[res]
		if !ok {
			n = int32(len(b.distinct))
			numbers[res] = n
			b.distinct = append(b.distinct, res)
		}
		b.resourceAt.appendNumber(n)
	}
}
