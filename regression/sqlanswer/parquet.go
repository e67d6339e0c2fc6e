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

// ParquetFile writes rows of BigQuery, with the columns of the query. The type of a row is a struct that is built at
// run time with a field per column, because structs keep the order of their fields.
type ParquetFile struct {
	Rows int64 // number of rows written

	writer *pq.GenericWriter[any]
	row    reflect.Value
}

// RowsPerGroup is the number of rows in a row group, which is held in memory. Other writers use the same number.
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
		// A comma or a quote would end the name in the struct tag, and the name "-" would omit the column.
		names[i] = strings.NewReplacer(",", ";", `"`, "'", "\\", "/", "\n", " ").Replace(c.Name)
		if names[i] == "-" {
			names[i] = "_"
		}
	}
	fields := make([]reflect.StructField, len(columns))
	for i, name := range distinct(names) {
		kind, logical := fieldTypes[columns[i].Type], ""
		switch {
		case kind == nil: // times, lists and structs are written as text
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

// Close flushes the remaining rows and writes the footer.
func (p *ParquetFile) Close() error { return p.writer.Close() }

// fitting converts a value of the engine to the type t of a field.
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
