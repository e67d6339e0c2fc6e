package columns

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/corehour/corehour/internal/methodspan"
)

// Part is the part of a row that holds a column.
type Part uint8

// Parts of a row.
const (
	OfRow      Part = iota
	OfResource      // shared by all rows of a process
	OfProcess       // only process rows have it
)

// place is the field of a part that holds a column.
type place struct {
	part  Part
	field reflect.StructField
}

// places maps each column to the field whose tag names it.
var places = placesOf(map[Part]reflect.Type{
	OfRow: reflect.TypeFor[methodspan.Row](), OfResource: reflect.TypeFor[methodspan.Resource](), OfProcess: reflect.TypeFor[methodspan.ProcessStats](),
})

func placesOf(parts map[Part]reflect.Type) map[string]place {
	all := map[string]place{}
	for part, of := range parts {
		for f := range of.Fields() {
			if name := f.Tag.Get("column"); name != "" {
				all[name] = place{part, f}
			}
		}
	}
	return all
}

// Part returns the part of a row that holds the column.
func (c *Column) Part() Part { return places[c.Name].part }

// GoType returns the type of the field that holds the column. It is nil for event_date, which is
// derived from the start.
func (c *Column) GoType() reflect.Type { return places[c.Name].field.Type }

// Value returns the settable field of r that holds the column. The row must have the part.
func (c *Column) Value(r *methodspan.Row) reflect.Value {
	at, base := places[c.Name], reflect.ValueOf(r)
	switch at.part {
	case OfResource:
		base = reflect.ValueOf(r.Resource)
	case OfProcess:
		base = reflect.ValueOf(r.Process)
	}
	return base.Elem().FieldByIndex(at.field.Index)
}

// In returns a pointer to the part of r, nil if r has no such part.
func (p Part) In(r *methodspan.Row) unsafe.Pointer {
	switch p {
	case OfResource:
		return unsafe.Pointer(r.Resource)
	case OfProcess:
		return unsafe.Pointer(r.Process)
	}
	return unsafe.Pointer(r)
}

// Field is the field of a part of rows that holds a column.
type Field[T any] struct{ offset uintptr }

// FieldOf returns the field of a column. It panics unless the field has type T.
func FieldOf[T any](column string) Field[T] {
	at := places[column]
	if want := reflect.TypeFor[T](); at.field.Type != want {
		panic(fmt.Sprintf("column %s is held as %v, not as %v", column, at.field.Type, want))
	}
	return Field[T]{at.field.Offset}
}

// At returns a pointer to the column in part, which must not be nil.
func (f Field[T]) At(part unsafe.Pointer) *T { return (*T)(unsafe.Add(part, f.offset)) }
