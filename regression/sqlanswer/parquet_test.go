package sqlanswer

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/fixture/remote"
)

// lines returns the single text column that DuckDB answers.
func lines(t *testing.T, text string) (lines []string) {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// Rows of BigQuery are written to Parquet as those of files are.
func TestParquetFile_RowsOfBigQuery(t *testing.T) {
	root := fixture.TwoReleases(t, 0.5)
	_, address := remote.Serve(t, root)
	const text = "SELECT class, SUM(calls) AS calls, CAST(COUNT(*) AS BIGINT) AS n, MAX(cpu_ns) AS most_ns, MIN(event_date) AS day, " +
		"MAX(final) AS final, MAX(span_id) AS id, CAST(-1.5 AS DECIMAL(9,2)) AS price FROM method_calls GROUP BY class ORDER BY class"
	path := filepath.Join(t.TempDir(), "answer.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := &ParquetFile{}
	err = open(t, address, query.Window{}).UserRows(t.Context(), text, func(columns []query.UserColumn) error { return p.Begin(f, columns) }, p.AddRow)
	if err == nil {
		err = p.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	columns := lines(t, "SELECT column_name || ' ' || column_type FROM (DESCRIBE FROM '"+path+"')")
	if got := strings.Join(columns, ", "); got != "class VARCHAR, calls DOUBLE, n BIGINT, most_ns BIGINT, day DATE, final BOOLEAN, id BLOB, price DOUBLE" {
		t.Error(got)
	}
	rows := lines(t, "SELECT CAST(f AS VARCHAR) FROM '"+path+"' f")
	ofFiles := filepath.Join(t.TempDir(), "files.parquet")
	if err := os.WriteFile(ofFiles, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := query.Open(t.Context(), root, query.Window{}, query.ExportTo(ofFiles))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Export(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(strings.Join(lines(t, "SELECT CAST(f AS VARCHAR) FROM '"+ofFiles+"' f"), "\n"), "-1.50", "-1.5")
	if got := strings.Join(rows, "\n"); len(rows) < 4 || int64(len(rows)) != p.Rows || got != want || !strings.Contains(got, "'day': 2026-03-10") {
		t.Errorf("%d rows\n%s\nwant\n%s", p.Rows, got, want)
	}
}

// Rows are written in row groups, which bounds memory.
func TestParquetFile_RowGroups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answer.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := &ParquetFile{}
	if err := p.Begin(f, []query.UserColumn{{Name: "a", Type: "INT64"}, {Name: "b", Type: "STRING"}}); err != nil {
		t.Fatal(err)
	}
	for i := range int64(RowsPerGroup + 1) {
		b := any(fmt.Sprint(i))
		if i%2 == 1 {
			b = nil
		}
		if err := p.AddRow([]any{i, b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	got := lines(t, fmt.Sprintf("SELECT CONCAT_WS(' ', MAX(row_group_id) + 1, (SELECT CONCAT_WS(' ', COUNT(*), COUNT(b), SUM(a)) FROM '%s')) FROM parquet_metadata('%s')", path, path))
	const n = RowsPerGroup + 1
	if want := fmt.Sprint(2, " ", n, " ", (n+1)/2, " ", n*(n-1)/2); got[0] != want {
		t.Errorf("groups, rows, values and sum: %s, want %s", got[0], want)
	}
}
