package query

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corehour/corehour/test/fixture"
)

// exported writes the rows of a statement to a file and returns its columns with their types, its rows as text, and
// the number of row groups.
func exported(t *testing.T, text string) (columns, rows string, groups int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answer.parquet")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := Open(t.Context(), fixture.Write(t, fixture.Items("a-1", oddEnds()...)), Window{}, ExportTo(path))
	if err != nil {
		t.Fatal(err)
	}
	n, err := w.Export(t.Context(), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	one := func(text string, to any) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), text).Scan(to); err != nil {
			t.Fatal(err)
		}
	}
	one("SELECT STRING_AGG(column_name || ' ' || column_type, ', ') FROM (DESCRIBE FROM '"+path+"')", &columns)
	one("SELECT STRING_AGG(CAST(f AS VARCHAR), ' ') FROM (FROM '"+path+"' LIMIT 3) f", &rows)
	one("SELECT MAX(row_group_id) + 1 FROM parquet_metadata('"+path+"')", &groups)
	var stored int64
	if one("SELECT COUNT(*) FROM '"+path+"'", &stored); stored != n {
		t.Errorf("%d rows are stored, %d returned", stored, n)
	}
	return columns, rows, groups
}

// Columns are exported with the types of the engine, which docs/reference/schema.md lists, and rows in row groups.
func TestExport_Types(t *testing.T) {
	columns, _, _ := exported(t, "SELECT * FROM method_calls")
	table, err := openOdd(t).User(t.Context(), "SELECT STRING_AGG(column_name || ' ' || column_type, ', ') FROM (DESCRIBE method_calls)", 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprint(table.Rows[0][0]); strings.ReplaceAll(columns, `"`, "") != strings.ReplaceAll(want, `"`, "") || !strings.Contains(columns, "row_seq INTEGER") || !strings.Contains(columns, "event_date DATE") {
		t.Errorf("got\n%s\nwant\n%s", columns, want)
	}
	columns, rows, _ := exported(t, "SELECT [0.5, 0.95] AS l, 18446744073709551615::UBIGINT AS u, 7::USMALLINT AS s, 1::UTINYINT AS b, TIMESTAMP '2026-03-10' AS at, "+
		"2 AS a, 3 AS a, 4 AS \"-\", 5 AS \"c, d\", {'x': MAP{1: 2}} AS r; -- all of them")
	if want := "l DECIMAL(3,2)[], u UBIGINT, s USMALLINT, b UTINYINT, at TIMESTAMP, a INTEGER, a_1 INTEGER, - INTEGER, c, d INTEGER, r STRUCT(x MAP(INTEGER, INTEGER))"; columns != want {
		t.Errorf("got %s, want %s", columns, want)
	}
	if want := "{'l': [0.50, 0.95], 'u': 18446744073709551615, 's': 7, 'b': 1, 'at': '2026-03-10 00:00:00', 'a': 2, 'a_1': 3, '-': 4, 'c, d': 5, 'r': {'x': {1=2}}}"; rows != want {
		t.Errorf("got %s, want %s", rows, want)
	}
	if _, _, groups := exported(t, "SELECT i FROM range(300_000) r(i)"); groups != 3 {
		t.Errorf("%d row groups, want 3", groups)
	}
}
