package output

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Records returns a table of records for spreadsheets: its columns are plain.
func Records[T any](records []T, columns ...string) *Table {
	var c Columns[T]
	c.Plain(columns...)
	return c.Table(records)
}

// Plain adds columns for members of the records. Figures have no scientific notation, and an unknown value is empty.
// A column is the name of a member of the records' JSON form; name=path gives it another name. A path has points
// before members and indexes of members, and | between alternatives. The first known alternative is used.
func (c *Columns[T]) Plain(columns ...string) {
	m := members{}
	for _, column := range columns {
		name, path, found := strings.Cut(column, "=")
		if !found {
			path = name
		}
		alternatives := strings.Split(path, "|")
		c.Column(name, func(record *T) (cell Cell) {
			for _, path := range alternatives {
				if cell = plainCell(m.find(reflect.ValueOf(record), path)); cell.text != "" {
					break
				}
			}
			return cell
		})
	}
}

// members contains the positions in structs of the members of their JSON objects.
type members map[reflect.Type]map[string][]int

// find returns the value at a path, or the zero Value if it is unknown. It panics if no record has the path.
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
		index, known := m.membersOf(v.Type())[part]
		if !known {
			panic(fmt.Sprintf("output: %s has no member %s", v.Type(), part))
		}
		var err error
		if v, err = v.FieldByIndexErr(index); err != nil { // a member of a nil embedded struct
			return reflect.Value{}
		}
	}
	return pointed(v)
}

// pointed returns the target of a pointer, or the zero Value if the pointer is nil.
func pointed(v reflect.Value) reflect.Value {
	for v.IsValid() && v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

func (m members) membersOf(t reflect.Type) map[string][]int {
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
