package fake

import (
	"reflect"
	"time"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
)

// MethodRows converts stored rows back to the rows that were written. Equal resources are separate values.
func MethodRows(rows []Row) []methodspan.Row {
	out := make([]methodspan.Row, len(rows))
	for i, r := range rows {
		out[i] = methodRow(r)
	}
	return out
}

func methodRow(r Row) methodspan.Row {
	m := methodspan.Row{Resource: &methodspan.Resource{}}
	if _, ok := r["final"].(bool); ok {
		m.Process = &methodspan.ProcessStats{CallsTotal: methodspan.TotalNotGiven}
	}
	for i := range columns.All {
		c := &columns.All[i]
		if v, ok := r[c.Name]; ok && v != nil && c.GoType() != nil {
			setField(c.Value(&m), v)
		}
	}
	return m
}

// setField sets a field of a row to the value v from the table.
func setField(field reflect.Value, v any) {
	switch v := v.(type) {
	case []byte:
		reflect.Copy(field, reflect.ValueOf(v))
	case []any:
		for _, element := range v {
			field.Set(reflect.Append(field, reflect.Zero(field.Type().Elem())))
			for f, value := range field.Index(field.Len() - 1).Fields() {
				setField(value, element.(Row)[f.Tag.Get("column")])
			}
		}
	default:
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		field.Set(reflect.ValueOf(v).Convert(field.Type()))
	}
}

func get[T any](r Row, name string) (v T) {
	v, _ = r[name].(T)
	return v
}

// Day returns the partition of a row.
func Day(r Row) time.Time {
	t, _ := time.Parse(time.DateOnly, get[string](r, "event_date"))
	return t
}
