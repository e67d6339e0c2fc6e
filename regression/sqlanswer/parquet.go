package sqlanswer

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// ParquetFile is rows of BigQuery, of a shape that the query decides. The type of a row is made
// at run time, one field per column, because a struct keeps their order.
type ParquetFile struct {
	Rows int64 // written

	writer *pq.GenericWriter[any]
	row    reflect.Value
}

// RowsPerGroup are held in memory. It is what other writers take.
const RowsPerGroup = 122_880

var fieldTypes = map[string]reflect.Type{
	"INT64": reflect.TypeFor[*int64](), "FLOAT64": reflect.TypeFor[*float64](), "BOOL": reflect.TypeFor[*bool](),
	"BYTES": reflect.TypeFor[[]byte](), "DATE": reflect.TypeFor[*int32](),
	"NUMERIC": reflect.TypeFor[*float64](), "BIGNUMERIC": reflect.TypeFor[*float64](),
}

// Begin writes the schema of the columns.
func (p *ParquetFile) Begin(w io.Writer, columns []query.UserColumn) error {
	names := make([]string, len(columns))
	for i, c := range columns {
		// A comma or a quote would end the name in the tag, a dash would leave the column out.
		names[i] = strings.NewReplacer(",", ";", `"`, "'", "\\", "/", "\n", " ").Replace(c.Name)
		if names[i] == "-" {
			names[i] = "_"
		}
	}
	fields := make([]reflect.StructField, len(columns))
	for i, name := range distinct(names) {
		kind, logical := fieldTypes[columns[i].Type], ""
		switch {
		case kind == nil: // times, lists and structs as text
			kind = reflect.TypeFor[*string]()
		case columns[i].Type == "DATE":
			logical = ",date"
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: kind, Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s,optional,zstd%s"`, name, logical))}
	}
	p.row = reflect.New(reflect.StructOf(fields)).Elem()
	p.writer = pq.NewGenericWriter[any](w, pq.SchemaOf(p.row.Addr().Interface()), pq.MaxRowsPerRowGroup(RowsPerGroup))
	return nil
}

// AddRow writes a row.
func (p *ParquetFile) AddRow(values []any) error {
	for i, v := range values {
		field := p.row.Field(i)
		field.SetZero()
		if v == nil {
			continue
		}
		into := field
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			into = field.Elem()
		}
		value, err := fitting(v, into.Type())
		if err != nil {
			return err
		}
		into.Set(value)
	}
	p.Rows++
	_, err := p.writer.Write([]any{p.row.Addr().Interface()})
	return err
}

// Close writes what is left.
func (p *ParquetFile) Close() error { return p.writer.Close() }

// fitting turns what an engine returned into a value of a field.
func fitting(v any, t reflect.Type) (reflect.Value, error) {
	value := reflect.ValueOf(v)
	switch t.Kind() {
	case reflect.String:
		switch v := v.(type) {
		case string:
		case time.Time:
			value = reflect.ValueOf(v.UTC().Format(time.RFC3339Nano))
		default:
			line, err := output.Line(jsonValue(v, time.UTC))
			if err != nil {
				return value, err
			}
			value = reflect.ValueOf(strings.TrimSpace(string(line)))
		}
	case reflect.Float64:
		if number, ok := v.(json.Number); ok {
			f, err := number.Float64()
			return reflect.ValueOf(f), err
		}
	case reflect.Int32:
		day, err := time.Parse(time.DateOnly, fmt.Sprint(v))
		return reflect.ValueOf(int32(day.Unix() / 86_400)), err
	}
	if !value.CanConvert(t) {
		return value, fmt.Errorf("a value of type %T can't be written as %s", v, t)
	}
	return value.Convert(t), nil
}
