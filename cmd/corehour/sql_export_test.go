package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/sqlanswer"
	"github.com/corehour/corehour/test/fixture/remote"
)

// inParquet returns the columns with their types, and the rows, that DuckDB reads from a Parquet file.
func inParquet(t *testing.T, path string) (columns, rows []string) {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	collect := func(text string) (lines []string) {
		found, err := db.QueryContext(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		defer found.Close()
		for found.Next() {
			var line string
			if err := found.Scan(&line); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		return lines
	}
	columns = collect("SELECT column_name || ' ' || column_type FROM (DESCRIBE FROM '" + path + "')")
	return columns, collect("SELECT CAST(f AS VARCHAR) FROM '" + path + "' f")
}

// exported runs sql with --output and returns the column types and the rows of the written file.
func exported(t *testing.T, warehouse, text string) (columns, rows []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answer.parquet")
	r := corehour("sql", "--warehouse", warehouse, "--output", path, text)
	if r.code != exitNothing || r.stdout != "" || !strings.Contains(r.stderr, "rows to "+path) {
		t.Fatalf("%+v", r)
	}
	return inParquet(t, path)
}

// TestSQL_WritesParquet: --output writes the same rows from files and from BigQuery.
func TestSQL_WritesParquet(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 0.5)
	_, address := remote.Serve(t, root)
	const text = "SELECT class, SUM(calls) AS calls, CAST(COUNT(*) AS BIGINT) AS n, MAX(cpu_ns) AS most_ns, MIN(event_date) AS day, " +
		"MAX(final) AS final, MAX(span_id) AS id, CAST(-1.5 AS DECIMAL(9,2)) AS price FROM method_calls GROUP BY class ORDER BY class"
	columns, rows := exported(t, root, text)
	if got := strings.Join(columns, ", "); got != "class VARCHAR, calls DOUBLE, n BIGINT, most_ns BIGINT, day DATE, final BOOLEAN, id BLOB, price DECIMAL(9,2)" {
		t.Errorf("from files: %s", got)
	}
	remoteColumns, remoteRows := exported(t, address, text)
	if got := strings.Join(remoteColumns, ", "); got != "class VARCHAR, calls DOUBLE, n BIGINT, most_ns BIGINT, day DATE, final BOOLEAN, id BLOB, price DOUBLE" {
		t.Errorf("from BigQuery: %s", got)
	}
	if got, want := strings.Join(remoteRows, "\n"), strings.ReplaceAll(strings.Join(rows, "\n"), "-1.50", "-1.5"); len(rows) < 4 || got != want || !strings.Contains(got, "'day': 2026-03-10") {
		t.Errorf("from files\n%s\nfrom BigQuery\n%s", want, got)
	}
	path := filepath.Join(t.TempDir(), "there.parquet")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, warehouse := range []string{root, address} {
		if r := corehour("sql", "--warehouse", warehouse, "--output", path, text); r.code != exitFailed || !strings.Contains(r.stderr, "exists already") {
			t.Errorf("%+v", r)
		}
	}
	for _, args := range [][]string{{"--output", "x.csv", text}, {"--output", "x.parquet", "--limit", "3", text}, {"--output", t.TempDir() + "/no/x.parquet", text}} {
		if r := corehour(append([]string{"sql", "--warehouse", root}, args...)...); r.code != exitFailed || !strings.Contains(r.stderr, "--output") {
			t.Errorf("%v: %+v", args, r)
		}
	}
	dir := t.TempDir()
	for _, text := range []string{"EXPLAIN SELECT 1", "nonsense", "SELECT error('half way') FROM method_calls", "COPY (SELECT 1) TO '" + path + "'"} {
		if r := corehour("sql", "--warehouse", root, "--output", filepath.Join(dir, "x.parquet"), text); r.code != exitFailed || r.stderr == "" {
			t.Errorf("%s: %+v", text, r)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestSQL_ExportsEngineTypes: columns are exported with the types of the engine, which
// docs/reference/schema.md lists.
func TestSQL_ExportsEngineTypes(t *testing.T) {
	root := twoReleases(t, 0.5)
	columns, _ := exported(t, root, "SELECT * FROM method_calls LIMIT 3")
	r := corehour("sql", "--warehouse", root, "--format", "csv", "SELECT column_name || ' ' || column_type FROM (DESCRIBE method_calls)")
	_, want, _ := strings.Cut(strings.ReplaceAll(r.stdout, `"`, ""), "\n")
	if got := strings.ReplaceAll(strings.Join(columns, "\n")+"\n", `"`, ""); got != want || !strings.Contains(got, "row_seq INTEGER\n") || !strings.Contains(got, "event_date DATE\n") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	columns, rows := exported(t, root, "SELECT [0.5, 0.95] AS l, 18446744073709551615::UBIGINT AS u, 7::USMALLINT AS s, 1::UTINYINT AS b, "+
		"2 AS a, 3 AS a, 4 AS \"-\", 5 AS \"c, d\", {'x': MAP{1: 2}} AS r; -- all of them")
	if got := fmt.Sprint(columns, rows); got != "[l DECIMAL(3,2)[] u UBIGINT s USMALLINT b UTINYINT a INTEGER a_1 INTEGER - INTEGER c, d INTEGER r STRUCT(x MAP(INTEGER, INTEGER))] "+
		"[{'l': [0.50, 0.95], 'u': 18446744073709551615, 's': 7, 'b': 1, 'a': 2, 'a_1': 3, '-': 4, 'c, d': 5, 'r': {'x': {1=2}}}]" {
		t.Error(got)
	}
}

// TestSQL_WritesRowGroups: rows are written in row groups, which bounds memory. The file has the mode of any new
// file.
func TestSQL_WritesRowGroups(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "answer.parquet"), filepath.Join(dir, "other.parquet")
	if r := corehour("sql", "--warehouse", twoReleases(t, 0.5), "--output", path, "SELECT i FROM range(300_000) r(i)"); r.code != exitNothing {
		t.Fatalf("%+v", r)
	}
	f, err := os.Create(other)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := &sqlanswer.ParquetFile{}
	if err := p.Begin(f, []query.UserColumn{{Name: "a", Type: "INT64"}}); err != nil {
		t.Fatal(err)
	}
	for i := range int64(sqlanswer.RowsPerGroup + 1) {
		if err := p.AddRow([]any{i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	var modes []os.FileMode
	for path, groups := range map[string]int{path: 3, other: 2} {
		opened, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		info, err := opened.Stat()
		if err != nil {
			t.Fatal(err)
		}
		modes = append(modes, info.Mode())
		file, err := pq.OpenFile(opened, info.Size())
		if err != nil || len(file.RowGroups()) != groups {
			t.Errorf("%s: %d row groups, want %d, %v", path, len(file.RowGroups()), groups, err)
		}
	}
	if modes[0] != modes[1] {
		t.Errorf("the modes are %v", modes)
	}
}

// TestSQL_BigQueryDecimals: decimals from BigQuery keep all their digits.
func TestSQL_BigQueryDecimals(t *testing.T) {
	_, address := remote.Serve(t, twoReleases(t, 0.5))
	for format, want := range map[string]string{"csv": "a\n-1234567890123456789.25\n", "json": "[\n  {\n    \"a\": -1234567890123456789.25\n  }\n]\n"} {
		r := corehour("sql", "--warehouse", address, "--format", format, "SELECT CAST('-1234567890123456789.25' AS DECIMAL(38, 2)) AS a")
		if r.stdout != want {
			t.Errorf("%+v", r)
		}
	}
}
