package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// A vector holds the values of one column of a row group, in a form from which rows are filled.
// The zero vector is a column that is NULL in all rows.
type vector interface {
	reset()
	count() int    // number of rows
	addRows(n int) // adds n rows without a value
	empty() bool   // reports whether no row has a value
	// readPage adds the values of one page of n rows. defs are the definition levels, which show the rows
	// that have a value; they are empty if all rows have one.
	readPage(page pq.Page, n int, defs []byte) error
	// borrow takes buffers from a pool and giveBack returns them, for a vector that is needed only
	// for a while.
	borrow(*buffers)
	giveBack(*buffers)
}

// rowCount is the number of rows of a vector.
type rowCount struct{ rows int }

func (c *rowCount) count() int { return c.rows }

func (c *rowCount) addRows(n int) { c.rows += n }

var (
	errShort   = errors.New("a page has fewer values than rows")
	errOutside = errors.New("an index leads outside of the dictionary")
)

// each calls visit for each row of a page with the index of its value, or -1 if the row has none.
func each(page pq.Page, defs []byte, values int, visit func(at int)) error {
	if len(defs) == 0 {
		if values < int(page.NumRows()) {
			return errShort
		}
		for i := range int(page.NumRows()) {
			visit(i)
		}
		return nil
	}
	at := 0
	for _, d := range defs {
		if d == 0 {
			visit(-1)
			continue
		}
		if at >= values {
			return errShort
		}
		visit(at)
		at++
	}
	return nil
}

// known reports whether any row has a value.
func known(page pq.Page) bool { return page.NumNulls() < page.NumValues() }

// nameVector holds names; each distinct name once if the file has a dictionary.
type nameVector struct {
	rowCount
	at     []int32 // index of each row's value, null for none; empty if all rows have values[0] or none has a value
	values []string
	// intern shares equal names among files; nil does not share them.
	intern func(string) string
	// numbers are the numbers of the values in the column that rows are copied to.
	numbers []int32
}

func (v *nameVector) reset() { v.rows, v.at, v.values, v.numbers = 0, v.at[:0], nil, v.numbers[:0] }

func (v *nameVector) empty() bool { return len(v.values) == 0 }

func (v *nameVector) get(row int) string {
	i := int32(0)
	if len(v.at) > 0 {
		i = v.at[row]
	}
	if i == null || int(i) >= len(v.values) {
		return ""
	}
	return v.values[i]
}

func (v *nameVector) readPage(page pq.Page, n int, defs []byte) error {
	v.fillSame()
	v.rows += n
	base := int32(len(v.values))
	data := page.Data()
	if dict := page.Dictionary(); dict != nil {
		texts := dict.Page().Data()
		if err := v.texts(texts); err != nil {
			return err
		}
		indexes := data.Int32()
		size := int32(len(v.values)) - base
		constant := base == 0 && size == 1 && page.NumNulls() == 0 && v.rows == n
		for _, i := range indexes {
			if i < 0 || i >= size {
				return errOutside
			}
		}
		if constant {
			return each(page, defs, len(indexes), func(int) {})
		}
		v.at = slices.Grow(v.at, n)
		return each(page, defs, len(indexes), func(at int) {
			i := null
			if at >= 0 {
				i = base + indexes[at]
			}
			v.at = append(v.at, i)
		})
	}
	if err := v.texts(data); err != nil {
		return err
	}
	return each(page, defs, len(v.values)-int(base), func(at int) {
		if at < 0 {
			v.at = append(v.at, null)
		} else {
			v.at = append(v.at, base+int32(at))
		}
	})
}

// fillSame expands at if all rows so far have the same value.
func (v *nameVector) fillSame() {
	if v.rows == 0 || len(v.at) > 0 {
		return
	}
	value := null
	if len(v.values) > 0 {
		value = 0
	}
	for range v.rows {
		v.at = append(v.at, value)
	}
}

func (v *nameVector) texts(data encoding.Values) error {
	text, offsets := data.ByteArray()
	for i := 0; i+1 < len(offsets); i++ {
		from, to := offsets[i], offsets[i+1]
		if from > to || int(to) > len(text) {
			return errShort
		}
		s := string(text[from:to])
		if v.intern != nil {
			s = v.intern(s)
		}
		v.values = append(v.values, s)
	}
	return nil
}

// numberVector holds numbers of at most 8 bytes.
type numberVector[T int64 | float64] struct {
	rowCount
	values []T // value of each row; empty if none has a value
	has    []bool
	same   bool // values[0] is the value of all rows
	page   func(data encoding.Values) []T
}

func (v *numberVector[T]) reset() {
	v.rows, v.values, v.has, v.same = 0, v.values[:0], v.has[:0], false
}

func (v *numberVector[T]) empty() bool { return len(v.values) == 0 }

func (v *numberVector[T]) get(row int) (x T, ok bool) {
	if len(v.values) == 0 {
		return 0, false
	}
	return v.value(row), len(v.has) == 0 || v.has[row]
}

func (v *numberVector[T]) value(row int) T {
	switch {
	case len(v.values) == 0:
		return 0
	case v.same:
		return v.values[0]
	}
	return v.values[row]
}

// fillSame expands values if all rows so far have the same value.
func (v *numberVector[T]) fillSame() {
	if v.same {
		v.same = false
		for len(v.values) < v.rows {
			v.values = append(v.values, v.values[0])
		}
	}
}

func (v *numberVector[T]) readPage(page pq.Page, n int, defs []byte) error {
	v.fillSame()
	nulls := page.NumNulls() > 0
	before := len(v.values) > 0 // then all earlier rows have a value, unless v.has is set
	for len(v.values) < v.rows {
		v.values = append(v.values, 0)
	}
	if len(v.has) == 0 && (nulls || v.rows > 0 && !before) {
		for range v.rows {
			v.has = append(v.has, before)
		}
	}
	first := v.rows == 0
	v.rows += n
	values := v.page(page.Data())
	of := func(at int) T { return values[at] }
	count := len(values)
	if dict := page.Dictionary(); dict != nil {
		data := page.Data()
		indexes, entries := data.Int32(), v.page(dict.Page().Data())
		for _, i := range indexes {
			if i < 0 || int(i) >= len(entries) {
				return errOutside
			}
		}
		if first && len(entries) == 1 && !nulls {
			v.same = true
			v.values = append(v.values, entries[0])
			return each(page, defs, len(indexes), func(int) {})
		}
		of = func(at int) T { return entries[indexes[at]] }
		count, values = len(indexes), nil
	}
	v.values = slices.Grow(v.values, n)
	if nulls || len(v.has) > 0 {
		v.has = slices.Grow(v.has, n)
	}
	if values != nil && len(defs) == 0 && len(v.has) == 0 {
		if len(values) < n {
			return errShort
		}
		v.values = append(v.values, values[:n]...)
		return nil
	}
	return each(page, defs, count, func(at int) {
		var x T
		if at >= 0 {
			x = of(at)
		}
		v.values = append(v.values, x)
		if nulls || len(v.has) > 0 {
			v.has = append(v.has, at >= 0)
		}
	})
}

// These functions return the numbers of a page by physical type, and nil for a page of indexes.

func longsOf(data encoding.Values) []int64 {
	switch data.Kind() {
	case encoding.Int64:
		return data.Int64()
	case encoding.Boolean:
		bits := data.Boolean()
		out := make([]int64, 8*len(bits))
		for i := range out {
			out[i] = int64(bits[i/8] >> (i % 8) & 1)
		}
		return out
	case encoding.Int32:
		ints := data.Int32()
		out := make([]int64, len(ints))
		for i, x := range ints {
			out[i] = int64(x)
		}
		return out
	}
	return nil
}

func doublesOf(data encoding.Values) []float64 {
	if data.Kind() == encoding.Double {
		return data.Double()
	}
	return nil
}

// idVector holds ids of a fixed size; all zeros means no id.
type idVector struct {
	rowCount
	size   int
	values []byte // of all rows; empty if none has an id
}

func (v *idVector) empty() bool { return len(v.values) == 0 }

func (v *idVector) reset() { v.rows, v.values = 0, v.values[:0] }

// get copies the row's id to id, which must be zero before.
func (v *idVector) get(row int, id []byte) {
	if len(v.values) > 0 {
		copy(id, v.values[row*v.size:])
	}
}

func (v *idVector) readPage(page pq.Page, n int, defs []byte) error {
	if missing := v.rows*v.size - len(v.values); missing > 0 {
		v.values = append(v.values, make([]byte, missing)...)
	}
	v.rows += n
	if page.Dictionary() != nil {
		return errors.New("ids are in a dictionary")
	}
	data := page.Data()
	ids, size := data.FixedLenByteArray()
	if size != v.size {
		return fmt.Errorf("ids have %d bytes, want %d", size, v.size)
	}
	zero := make([]byte, v.size)
	v.values = slices.Grow(v.values, n*v.size)
	return each(page, defs, len(ids)/size, func(at int) {
		if at < 0 {
			v.values = append(v.values, zero...)
		} else {
			v.values = append(v.values, ids[at*size:(at+1)*size]...)
		}
	})
}

// listVector holds one field of the elements of a list.
type listVector[T element] struct {
	rowCount
	ends   []int32 // end of each row's elements in values; empty if no row has any
	values []T
	page   func(data encoding.Values) ([]T, error)
}

type element interface{ int64 | float64 | string }

// inLists adapts a function that returns the numbers of a page to listVector.
func inLists[T element](numbers func(encoding.Values) []T) func(encoding.Values) ([]T, error) {
	return func(data encoding.Values) ([]T, error) { return numbers(data), nil }
}

func textsOf(data encoding.Values) ([]string, error) {
	var v nameVector
	err := v.texts(data)
	return v.values, err
}

func (v *listVector[T]) reset() { v.rows, v.ends, v.values = 0, v.ends[:0], v.values[:0] }

func (v *listVector[T]) empty() bool { return len(v.ends) == 0 }

func (v *listVector[T]) get(row int) []T {
	if len(v.ends) == 0 {
		return nil
	}
	from := int32(0)
	if row > 0 {
		from = v.ends[row-1]
	}
	return v.values[from:v.ends[row]]
}

// readPage reads lists as this package writes them: definition level 2 is an element, and lower levels
// are a row without elements.
func (v *listVector[T]) readPage(page pq.Page, n int, defs []byte) error {
	for len(v.ends) < v.rows {
		v.ends = append(v.ends, 0)
	}
	v.rows += n
	if page.Dictionary() != nil {
		return errors.New("lists are in a dictionary")
	}
	values, err := v.page(page.Data())
	if err != nil {
		return err
	}
	reps := page.RepetitionLevels()
	if len(reps) != len(defs) {
		return errShort
	}
	v.values = slices.Grow(v.values, len(values))
	at := 0
	for i, r := range reps {
		if r == 0 {
			v.ends = append(v.ends, int32(len(v.values)))
		}
		if defs[i] < 2 {
			continue
		}
		if at >= len(values) || len(v.ends) == 0 {
			return errShort
		}
		v.values = append(v.values, values[at])
		at++
		v.ends[len(v.ends)-1]++
	}
	if len(v.ends) != v.rows {
		return errShort
	}
	return nil
}

// readVector adds the values of one column chunk to a vector.
func readVector(chunk pq.ColumnChunk, v vector) error {
	pages := chunk.Pages()
	defer pages.Close()
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n := int(page.NumRows()); v.empty() && !known(page) {
			v.addRows(n)
		} else {
			err = v.readPage(page, n, page.DefinitionLevels())
		}
		pq.Release(page)
		if err != nil {
			return err
		}
	}
}
