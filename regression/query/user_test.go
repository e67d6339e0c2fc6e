package query

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corehour/corehour/test/fixture"
)

// The engine can read the files of the warehouse, and a path that it can read it can also write. EXPLAIN ANALYZE runs
// the statement that it explains.
func TestUserStatement_ExplainWritesNothing(t *testing.T) {
	w := openOdd(t)
	var files []string
	for _, f := range w.Files {
		files = append(files, f.Path)
	}
	outside := filepath.Join(t.TempDir(), "outside.csv")
	before := readAll(t, files)
	for _, written := range []string{
		"COPY (SELECT 1 AS a) TO '" + outside + "'",
		"COPY (SELECT 1 AS a) TO '" + files[0] + "' (FORMAT parquet)",
		"COPY (SELECT 1 AS a) TO '" + files[0] + "' (FORMAT parquet, USE_TMP_FILE false)",
		"COPY (SELECT 1 AS a) TO '" + files[0] + "' (FORMAT csv, USE_TMP_FILE false)",
		"COPY /* SELECT */ method_calls TO '" + files[0] + "' (USE_TMP_FILE false)",
		"EXPORT DATABASE '" + filepath.Dir(files[0]) + "' (FORMAT parquet)",
		"CREATE TABLE t AS SELECT 1", "CREATE MACRO m(a) AS a", "DROP VIEW method_cost", "INSERT INTO method_calls SELECT 1", "DELETE FROM method_calls",
		"UPDATE method_calls SET kind = 'x'", "ATTACH '" + files[0] + "' AS x", "INSTALL httpfs", "LOAD httpfs", "PREPARE p AS SELECT 1", "EXECUTE p",
		"CALL enable_profiling()", "PRAGMA enable_profiling", "SET threads = 1", "CHECKPOINT", "VACUUM", "EXPLAIN SELECT 1",
		"SELECT 1; DROP VIEW method_cost", "nonsense",
	} {
		for _, explain := range []string{
			"EXPLAIN ", "EXPLAIN ANALYZE ", "explain\n\tanalyze\n", "EXPLAIN /* of */ ANALYZE /* a /* nested */ comment */ ", "-- first\nEXPLAIN -- SELECT 1\nANALYZE\u00a0",
			"EXPLAIN /* /* */ SELECT 1 -- */ ANALYZE ", "EXPLAIN (ANALYZE) ", "EXPLAIN (ANALYZE, FORMAT json) ", "EXPLAIN (ANALYZE /* ) SELECT 1 -- */ ) ", "EXPLAIN ANALYZE VERBOSE ", "EXPLAIN EXPLAIN ANALYZE ",
		} {
			statement := explain + written
			if table, err := w.User(t.Context(), statement, 10); err == nil {
				t.Errorf("%q was run: %v", statement, table)
			}
		}
	}
	if after := readAll(t, files); !slices.Equal(after, before) {
		t.Error("files of the warehouse were written to")
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a file outside the warehouse was written to")
	}
}

// No statement reads or writes anything but the views.
func TestUserStatement_ViewsOnly(t *testing.T) {
	w := openOdd(t)
	outside := filepath.Join(t.TempDir(), "secret.csv")
	if err := os.WriteFile(outside, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := []string{outside, w.Files[0].Path}
	before := readAll(t, files)
	for _, statement := range []string{
		"SELECT * FROM read_csv('" + outside + "')", "SELECT * FROM '" + outside + "'", "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM glob('/*')",
		"COPY (SELECT 1) TO '" + outside + "'", "COPY (SELECT 1 AS a) TO '" + files[1] + "' (FORMAT parquet)",
		"CREATE TABLE t AS SELECT 1", "DROP VIEW method_calls", "ATTACH '" + outside + "' AS x", "INSTALL httpfs", "LOAD httpfs",
		"SET enable_external_access = true", "RESET allowed_paths", "EXPORT DATABASE '" + t.TempDir() + "'",
		"SELECT 1; DROP VIEW method_cost", "DROP VIEW method_cost; SELECT 1", "SELECT 1; SELECT 2", "SELECT ?", "", "nonsense",
	} {
		if table, err := w.User(t.Context(), statement, 10); err == nil {
			t.Errorf("%q was run: %v", statement, table)
		}
	}
	if after := readAll(t, files); !slices.Equal(after, before) {
		t.Error("a file was written to")
	}
	for _, statement := range []string{
		"WITH a AS (SELECT 1 AS x) SELECT * FROM a", "FROM method_calls LIMIT 1", "DESCRIBE method_cost", "SELECT 1;",
		"EXPLAIN SELECT 1", "EXPLAIN (SELECT 1)", "EXPLAIN FROM method_calls", "explain analyze select 1;", "EXPLAIN ANALYZE (SELECT 1)", "EXPLAIN (FORMAT json) SELECT 1",
		"/* a */ EXPLAIN -- b\n ANALYZE /* c /* d */ */ WITH a AS (SELECT 1 AS x) SELECT * FROM a", "EXPLAIN (ANALYZE, FORMAT json) FROM method_calls", "EXPLAIN ANALYZE DESCRIBE method_cost",
	} {
		if _, err := w.User(t.Context(), statement, 10); err != nil {
			t.Errorf("%q: %v", statement, err)
		}
	}
}

func openOdd(t *testing.T) *Warehouse {
	w, err := Open(t.Context(), fixture.Write(t, fixture.Items("a-1", oddEnds()...)), Window{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func readAll(t *testing.T, files []string) (contents []string) {
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Error(err)
		}
		contents = append(contents, string(data))
	}
	return contents
}

// The driver holds a whole result in memory before it returns the first row.
func TestUserStatement_ReadsSelectedRows(t *testing.T) {
	w := openOdd(t)
	for text, want := range map[string]string{
		"SELECT CASE WHEN i < 1_000_000 THEN i ELSE error('this row was asked for') END AS n FROM range(2_000_000) r(i)":      "[n] [[0] [1] [2]] true",
		"WITH a AS (SELECT i FROM range(100) r(i)) SELECT i AS n, -i AS n FROM a ORDER BY i % 10 DESC, i; -- the last; first": "[n n] [[9 -9] [19 -19] [29 -29]] true",
		"SELECT ';' AS a /* no; */ ; ;":                                   "[a] [[;]] false",
		"SELECT $$ ; -- $$ AS a, E'\\'; ' AS b --;":                       "[a b] [[ ; --  '; ]] false",
		"SELECT 1 AS a UNION ALL SELECT 2 LIMIT 1":                        "[a] [[1]] false",
		"FROM range(3) r(a)":                                              "[a] [[0] [1] [2]] false",
		"VALUES (1), (2), (3), (4)":                                       "[col0] [[1] [2] [3]] true",
		"PIVOT (SELECT 1 AS a, 'x' AS b) ON b IN ('x', 'y') USING SUM(a)": "[x y] [[1 <nil>]] false",
		"DESCRIBE SELECT 1 AS a, 2 AS b":                                  "[column_name column_type null key default extra] [[a INTEGER YES <nil> <nil> <nil>] [b INTEGER YES <nil> <nil> <nil>]] false",
		"SELECT column_name FROM (SUMMARIZE SELECT 1 AS a)":               "[column_name] [[a]] false",
	} {
		table, err := w.User(t.Context(), text, 3)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := fmt.Sprint(table.Columns, table.Rows, table.Cut); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	table, err := w.User(t.Context(), "EXPLAIN SELECT 1; -- why", 3)
	if err != nil || fmt.Sprint(table.Columns) != "[explain_key explain_value]" {
		t.Errorf("%v, %v", table, err)
	}
}

func FuzzBody(f *testing.F) {
	for _, text := range []string{"SELECT 1; -- a", "/* /* */ */;", "E'\\'; '", "$a$ ; $a$", "# a\n;", "''' ; '''", "-- a", "\u00a0EXPLAIN\u2003", "'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []dialect{duckdbDialect, bigqueryDialect} {
			body := d.body(text)
			if !strings.HasPrefix(text, body) || d.body(body) != body {
				t.Errorf("%q of %q is not its beginning, or has something behind it: %q", body, text, d.body(body))
			}
			if with := body + "\n ; -- ;"; d.body(with) != body && d.body(with) != with {
				t.Errorf("of %q %q is left", with, d.body(with))
			}
		}
	})
}
