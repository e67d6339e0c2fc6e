package output

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Records returns a table of records for spreadsheets: figures are plain, without scientific notation, and
// what is not known is empty. A column is the name of a member of the records' JSON form. One of another
// name is written name=path. A path has points before members and indexes of members, and | between
// alternatives, of which the first that is known counts.
func Records[T any](records []T, columns ...string) *Table {
	t := &Table{}
	paths := make([][]string, len(columns))
	for i, column := range columns {
		name, path, found := strings.Cut(column, "=")
		if !found {
			path = name
		}
		t.Columns, paths[i] = append(t.Columns, name), strings.Split(path, "|")
	}
	m := members{}
	for i := range records {
		row := make([]Cell, len(columns))
		for j, alternatives := range paths {
			for _, path := range alternatives {
				if row[j] = plainCell(m.find(reflect.ValueOf(&records[i]), path)); row[j].text != "" {
					break
				}
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// members are where the members of JSON objects are in structs.
type members map[reflect.Type]map[string][]int

// find returns the value of a path, the zero Value if it is not known. A path that no record has panics.
func (m members) find(v reflect.Value, path string) reflect.Value {
	for part := range strings.SplitSeq(path, ".") {
		if v = pointed(v); !v.IsValid() {
			return v
		}
		if v.Kind() == reflect.Array {
			i, err := strconv.Atoi(part)
			if err != nil {
				panic("output: want an index, found " + part + " in " + path)
			}
			v = v.Index(i)
			continue
		}
		index, known := m.of(v.Type())[part]
		if !known {
			panic(fmt.Sprintf("output: %s has no member %s", v.Type(), part))
		}
		var err error
		if v, err = v.FieldByIndexErr(index); err != nil { // of an embedded struct that is nil
			return reflect.Value{}
		}
	}
	return pointed(v)
}

// pointed returns what a pointer points at, the zero Value if it is nil.
func pointed(v reflect.Value) reflect.Value {
	for v.IsValid() && v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

func (m members) of(t reflect.Type) map[string][]int {
	if m[t] == nil {
		m[t] = map[string][]int{}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if old := m[t][name]; name != "" && (old == nil || len(f.Index) < len(old)) {
				m[t][name] = f.Index
			}
		}
	}
	return m[t]
}

func plainCell(v reflect.Value) Cell {
	switch {
	case !v.IsValid():
		return Figure("")
	case v.Kind() == reflect.String:
		return Name(v.String())
	case v.CanFloat():
		return Figure(strconv.FormatFloat(v.Float(), 'f', -1, 64))
	case v.CanInt():
		return Whole(v.Int())
	case v.Kind() == reflect.Bool:
		return Figure(strconv.FormatBool(v.Bool()))
	}
	return Figure(v.Interface().(time.Time).UTC().Format(time.RFC3339))
}
