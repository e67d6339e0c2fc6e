package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/parquet"
)

// TestSchemaPageListsTheColumns writes a warehouse and compares the page with
// the file that lies there.
func TestSchemaPageListsTheColumns(t *testing.T) {
	dir := t.TempDir()
	writer, err := parquet.NewWriter(dir, parquet.Options{})
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
	snapshot, err := parquet.Open(dir)
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
	documented := columnsOfPage(t)
	for i := range max(len(stored), len(documented)) {
		var s, d string
		if i < len(stored) {
			s = stored[i]
		}
		if i < len(documented) {
			d = documented[i]
		}
		if s != d {
			t.Errorf("column %d: the file has %q, docs/schema.md says %q (name, type, can be NULL)", i+1, s, d)
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

// typeOf is the type as the page spells it.
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

// columnsOfPage reads the table below "## Columns".
func columnsOfPage(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "schema.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Columns\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var columns []string
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		name := strings.Trim(strings.TrimSpace(cells[1]), "`")
		canBeNull := strings.TrimSpace(cells[4]) != "never"
		columns = append(columns, fmt.Sprintf("%s %s %v", name, strings.TrimSpace(cells[2]), canBeNull))
	}
	return columns
}
