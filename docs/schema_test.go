package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// TestSchemaPage_ColumnsOfFiles compares the list of columns with the columns of a written data file.
func TestSchemaPage_ColumnsOfFiles(t *testing.T) {
	dir := t.TempDir()
	writer, err := table.NewWriter(dir, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixNano()
	row := methodspan.Row{Resource: &methodspan.Resource{Service: "shop"}, Kind: methodspan.KindCounts,
		Level: methodspan.LevelRaw, StartNS: now, EndNS: now, Method: "Total", Calls: 1, BatchID: "a-1"}
	if _, err := writer.Write(t.Context(), []methodspan.Item{{ID: "a-1", Rows: []methodspan.Row{row}}}); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	snapshot, err := table.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(snapshot.Files[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	written, err := pq.OpenFile(file, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	var stored []string
	for _, field := range written.Schema().Fields() {
		stored = append(stored, fmt.Sprintf("%s %s %v", field.Name(), typeOf(t, field), field.Optional()))
	}
	documented := make([]string, len(columns.All))
	for i, c := range columns.All {
		documented[i] = fmt.Sprintf("%s %s %v", c.Name, parquetType(c), !c.Required || c.Derived != "")
	}
	for i := range max(len(stored), len(documented)) {
		var s, d string
		if i < len(stored) {
			s = stored[i]
		}
		if i < len(documented) {
			d = documented[i]
		}
		if s != d {
			t.Errorf("column %d: the file has %q, internal/columns says %q (name, type, can be NULL)", i+1, s, d)
		}
	}
	for _, key := range []string{"corehour.histogram_gamma", "corehour.schema_version"} {
		if _, ok := written.Lookup(key); !ok {
			t.Errorf("the file has no metadata %s", key)
		}
	}
	if methodspan.Gamma != 1.01/0.99 {
		t.Errorf("gamma is %v, the page says 1.01/0.99", methodspan.Gamma)
	}
}

// typeOf returns the type as the page spells it.
func typeOf(t *testing.T, field pq.Field) string {
	t.Helper()
	if !field.Leaf() {
		element := pq.Node(field)
		for element.Fields()[0].Repeated() || len(element.Fields()) == 1 {
			element = element.Fields()[0]
		}
		var parts []string
		for _, part := range element.Fields() {
			parts = append(parts, fmt.Sprintf("`%s` %s", part.Name(), typeOf(t, part)))
		}
		return "LIST of (" + strings.Join(parts, ", ") + ")"
	}
	if logical := field.Type().LogicalType(); logical != nil {
		switch logical.Value.(type) {
		case *format.StringType:
			return "STRING"
		case *format.DateType:
			return "DATE"
		}
	}
	switch kind := field.Type().Kind(); kind {
	case pq.Boolean:
		return "BOOLEAN"
	case pq.Int32:
		return "INT32"
	case pq.Int64:
		return "INT64"
	case pq.Double:
		return "DOUBLE"
	case pq.FixedLenByteArray:
		return fmt.Sprintf("%d BYTES", field.Type().Length())
	default:
		return kind.String()
	}
}

// parquetType returns the type as the page spells it.
func parquetType(c columns.Column) string {
	if c.Type != columns.List {
		return c.Type.Parquet
	}
	var parts []string
	for _, f := range c.Fields {
		parts = append(parts, fmt.Sprintf("`%s` %s", f.Name, f.Type.Parquet))
	}
	return "LIST of (" + strings.Join(parts, ", ") + ")"
}

// TestSchemaPage_ListsColumns generates the page's table from the list of columns.
func TestSchemaPage_ListsColumns(t *testing.T) {
	var b strings.Builder
	b.WriteString("| column | type | unit or meaning | NULL means |\n|---|---|---|---|\n")
	for _, c := range columns.All {
		null := c.Null
		if null == "not given" {
			null = ""
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, parquetType(c), c.Unit, null)
	}
	compareComputed(t, "docs/reference/schema.md", "columns", b.String())
	if !strings.Contains(pages(t)["docs/reference/schema.md"], "SELECT "+columns.Full+"\n") {
		t.Errorf("the page does not tell other programs to select %s", columns.Full)
	}
}
