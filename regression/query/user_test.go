package query

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corehour/corehour/regression/fixture"
)

// The engine may read the files of the warehouse, and what may be read there may be
// written. EXPLAIN ANALYZE runs what it explains.
func TestExplainWritesNothing(t *testing.T) {
	root := fixture.Write(t, fixture.Items("a-1", oddEnds()...))
	w, err := Open(t.Context(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
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
