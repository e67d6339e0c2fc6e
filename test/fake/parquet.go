package fake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
)

// The features of Parquet that files may use here. The service's documentation lists the codecs but not the encodings
// and page types, so the fake accepts only those that every reader has always supported.
var (
	codecs    = []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Gzip, format.Zstd}
	encodings = []format.Encoding{format.Plain, format.RLE, format.RLEDictionary}
)

// leafOf is the destination of the values of a leaf.
type leafOf struct {
	column  string // column of the table
	element string // field of the structs in a list, "" for a flat column
	field   bigquery.Field
	present int // definition level of a value that is present
}

// readParquet returns the rows of a file. The names, types and modes that the service derives for its columns must
// match the table exactly.
func readParquet(data []byte, table []bigquery.Field, listInference bool) ([]Row, error) {
	file, err := pq.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	for _, group := range file.Metadata().RowGroups {
		for _, c := range group.Columns {
			name := strings.Join(c.MetaData.PathInSchema, ".")
			if !slices.Contains(codecs, c.MetaData.Codec) {
				return nil, fmt.Errorf("column %s: codec %s", name, c.MetaData.Codec)
			}
			for _, e := range c.MetaData.Encoding {
				if !slices.Contains(encodings, e) {
					return nil, fmt.Errorf("column %s: encoding %s", name, e)
				}
			}
		}
	}
	leaves, err := leavesOf(file.Schema(), table, listInference)
	if err != nil {
		return nil, err
	}
	var rows []Row
	reader := pq.NewReader(file)
	defer reader.Close()
	buffer := make([]pq.Row, 64)
	for {
		n, err := reader.ReadRows(buffer)
		for _, values := range buffer[:n] {
			row, err := assemble(values, leaves, table)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// leavesOf compares the schema of a file with the table and returns the destinations of its leaves.
func leavesOf(schema *pq.Schema, table []bigquery.Field, listInference bool) ([]leafOf, error) {
	var leaves []leafOf
	there := map[string]bool{}
	for _, node := range schema.Fields() {
		have := columnOf(table, node.Name())
		if have == nil {
			return nil, fmt.Errorf("no such field: %s", node.Name())
		}
		there[strings.ToLower(node.Name())] = true
		if !isList(node) {
			level := 0
			if node.Optional() {
				level = 1
			}
			if err := sameField(node, have, node.Name()); err != nil {
				return nil, err
			}
			leaves = append(leaves, leafOf{column: have.Name, field: *have, present: level})
			continue
		}
		if !listInference {
			return nil, fmt.Errorf("field %s is a RECORD of a list of elements, and is REPEATED in the table", node.Name())
		}
		if have.Mode != "REPEATED" || have.Type != "RECORD" {
			return nil, fmt.Errorf("field %s is REPEATED RECORD, and is %s %s in the table", node.Name(), have.Mode, have.Type)
		}
		element := node.Fields()[0].Fields()[0]
		level := 1
		if node.Optional() {
			level++
		}
		if element.Optional() {
			return nil, fmt.Errorf("field %s has elements that may be NULL", node.Name())
		}
		for _, f := range element.Fields() {
			path := node.Name() + "." + f.Name()
			inner := columnOf(have.Fields, f.Name())
			if inner == nil {
				return nil, fmt.Errorf("no such field: %s", path)
			}
			if err := sameField(f, inner, path); err != nil {
				return nil, err
			}
			if f.Optional() {
				return nil, fmt.Errorf("field %s is not read here if it is NULLABLE", path)
			}
			leaves = append(leaves, leafOf{column: have.Name, element: inner.Name, field: *inner, present: level})
		}
	}
	for _, c := range table {
		if !there[strings.ToLower(c.Name)] && c.Mode == "REQUIRED" {
			return nil, fmt.Errorf("missing required field: %s", c.Name)
		}
	}
	return leaves, nil
}

// isList reports whether a group is a list of three levels, as the format specifies it.
func isList(n pq.Node) bool {
	if _, list := logicalOf(n).(*format.ListType); !list || n.Leaf() || len(n.Fields()) != 1 {
		return false
	}
	repeated := n.Fields()[0]
	return repeated.Name() == "list" && repeated.Repeated() && len(repeated.Fields()) == 1 && !repeated.Fields()[0].Leaf()
}

func sameField(n pq.Node, have *bigquery.Field, path string) error {
	mode := "NULLABLE"
	switch {
	case n.Required():
		mode = "REQUIRED"
	case n.Repeated():
		mode = "REPEATED"
	}
	want := have.Mode
	if want == "" {
		want = "NULLABLE"
	}
	if mode != want {
		return fmt.Errorf("provided schema does not match table: field %s has changed mode from %s to %s", path, want, mode)
	}
	kind, err := typeOf(n)
	if err != nil {
		return fmt.Errorf("field %s: %w", path, err)
	}
	if kind != have.Type {
		return fmt.Errorf("provided schema does not match table: field %s has changed type from %s to %s", path, have.Type, kind)
	}
	return nil
}

func logicalOf(n pq.Node) format.LogicalTypeValue {
	if t := n.Type().LogicalType(); t != nil {
		return t.Value
	}
	return nil
}

// typeOf returns the BigQuery type that the service's documentation gives for a Parquet type.
func typeOf(n pq.Node) (string, error) {
	if !n.Leaf() {
		return "RECORD", nil
	}
	t := n.Type()
	switch logicalOf(n).(type) {
	case nil:
		switch t.Kind() {
		case pq.Boolean:
			return "BOOLEAN", nil
		case pq.Int32, pq.Int64:
			return "INTEGER", nil
		case pq.Float, pq.Double:
			return "FLOAT", nil
		case pq.ByteArray, pq.FixedLenByteArray:
			return "BYTES", nil
		}
	case *format.IntType:
		return "INTEGER", nil
	case *format.DateType:
		return "DATE", nil
	case *format.StringType:
		return "STRING", nil
	}
	return "", fmt.Errorf("the type %s can't be converted", t)
}

// assemble builds a row from the values of its leaves.
func assemble(values pq.Row, leaves []leafOf, table []bigquery.Field) (Row, error) {
	row := Row{}
	for _, c := range table {
		row[c.Name] = nil
	}
	var err error
	values.Range(func(column int, cells []pq.Value) bool {
		l := leaves[column]
		if l.element == "" {
			if cells[0].DefinitionLevel() == l.present {
				row[l.column], err = cell(cells[0], l.field)
			}
			return err == nil
		}
		var list []any
		if row[l.column] != nil {
			list = row[l.column].([]any)
		}
		at := 0
		for _, c := range cells {
			if c.DefinitionLevel() != l.present {
				continue
			}
			if at == len(list) {
				list = append(list, Row{})
			}
			if list[at].(Row)[l.element], err = cell(c, l.field); err != nil {
				return false
			}
			at++
		}
		if at != len(list) {
			err = fmt.Errorf("field %s has lists of different lengths", l.column)
			return false
		}
		if at > 0 {
			row[l.column] = list
		}
		return true
	})
	return row, err
}

func cell(v pq.Value, f bigquery.Field) (any, error) {
	switch f.Type {
	case "BOOLEAN":
		return v.Boolean(), nil
	case "DATE":
		return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly), nil
	case "INTEGER":
		if v.Kind() == pq.Int32 {
			return int64(v.Int32()), nil
		}
		return v.Int64(), nil
	case "FLOAT":
		if v.Kind() == pq.Float {
			return float64(v.Float()), nil
		}
		return v.Double(), nil
	case "STRING":
		if !utf8.Valid(v.ByteArray()) {
			return nil, fmt.Errorf("the column %s is no valid UTF-8", f.Name)
		}
		return string(v.ByteArray()), nil
	case "BYTES":
		return bytes.Clone(v.ByteArray()), nil
	}
	return nil, fmt.Errorf("the column %s is %s", f.Name, f.Type)
}
