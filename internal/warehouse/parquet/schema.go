package parquet

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
)

// SchemaVersion is the schema version written to files and manifests.
const SchemaVersion = columns.Version

// unknown is the resource of rows that have none.
var unknown methodspan.Resource

// schemaTypes are the physical types of the leaves.
var schemaTypes = sync.OnceValue(func() (types []format.Type) {
	for _, element := range schema().Schema {
		if element.Type.Valid {
			types = append(types, element.Type.V)
		}
	}
	return types
})

// schema returns the schema of the table method_calls, flattened as in a footer.
var schema = sync.OnceValue(func() (s format.FileMetaData) {
	w := pq.NewGenericWriter[any](io.Discard, pq.NewSchema("record", pq.SchemaOf(reflect.New(structOf(columns.All)).Interface())))
	if err := w.Close(); err != nil { // nothing was written
		panic(err)
	}
	meta := w.File().Metadata()
	s.Schema, s.ColumnOrders = meta.Schema, meta.ColumnOrders
	return s
})

// leafPaths are the paths of the leaves of the schema.
var leafPaths = sync.OnceValue(func() [][]string {
	return pq.SchemaOf(reflect.New(structOf(columns.All)).Interface()).Columns()
})

// structOf returns a struct type from which the library makes a schema of the columns. A column whose
// value can be derived from other columns is optional.
func structOf(list []columns.Column) reflect.Type {
	types := map[columns.Type]reflect.Type{
		columns.String: reflect.TypeFor[string](), columns.Int64: reflect.TypeFor[int64](), columns.Int32: reflect.TypeFor[int32](),
		columns.Double: reflect.TypeFor[float64](), columns.Boolean: reflect.TypeFor[bool](), columns.Date: reflect.TypeFor[int32](),
		columns.Bytes16: reflect.TypeFor[[16]byte](), columns.Bytes8: reflect.TypeFor[[8]byte](),
	}
	fields := make([]reflect.StructField, len(list))
	for i, c := range list {
		tag, of := c.Name, types[c.Type]
		if !c.Required || c.Derived != "" {
			tag += ",optional"
		}
		switch c.Type {
		case columns.Date:
			tag += ",date"
		case columns.List:
			tag += ",list"
			of = reflect.SliceOf(structOf(c.Fields))
		}
		fields[i] = reflect.StructField{Name: fmt.Sprint("Column", i), Type: of, Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag))}
	}
	return reflect.StructOf(fields)
}

// fullSchema returns the schema of files for other programs, in which end_ns is required.
var fullSchema = sync.OnceValue(func() format.FileMetaData {
	s := schema()
	s.Schema = slices.Clone(s.Schema)
	for i := range s.Schema {
		if s.Schema[i].Name == "end_ns" {
			s.Schema[i].RepetitionType = thrift.New(format.Required)
		}
	}
	return s
})
