package query

import (
	"database/sql"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// lines returns the result rows of a statement as texts.
func lines(t *testing.T, root, statement string) (lines []string) {
	t.Helper()
	w, err := Open(t.Context(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	table, err := w.User(t.Context(), statement, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows {
		lines = append(lines, fmt.Sprint(row...))
	}
	return lines
}

// oddEnds returns rows whose ends follow from start and wall time, nearly follow, and would follow if the sum of both
// were not too large for the engine.
func oddEnds() []methodspan.Row {
	start := fixture.Start.UnixNano()
	resource := &methodspan.Resource{Service: "shop", Version: "1"}
	var rows []methodspan.Row
	for _, span := range []struct{ measured, wall, end int64 }{
		{1, 40, start + 40}, {1, 0, start}, {1, -7, start - 7}, {5, 40, start + 40}, {1, 40, start + 41}, {1, 40, start}, {1, 0, 0}, {1, 3, -3},
		{0, 0, start}, {0, 0, start + 60e9}, {1, math.MaxInt64, math.MaxInt64}, {1, math.MaxInt64, start - 2 + math.MinInt64 + 1}, {1, math.MinInt64, start + math.MinInt64},
	} {
		rows = append(rows, methodspan.Row{
			Resource: resource, Kind: methodspan.KindCall, StartNS: start, EndNS: span.end, Class: "a", Method: "B",
			Measured: span.measured, WallNS: span.wall, P: 1,
		})
	}
	return rows
}

// Every statement finds the end of every row, whether it is stored or not.
func TestEnds_EveryRow(t *testing.T) {
	rows := oddEnds()
	root := fixture.Write(t, fixture.Items("a-1", rows...))
	got := lines(t, root, "SELECT row_seq, end_ns FROM method_calls ORDER BY row_seq")
	files := lines(t, root, "SELECT row_seq, end_ns FROM method_files ORDER BY row_seq")
	for i, r := range rows {
		end := r.EndNS
		if end < r.StartNS || end > methodspan.Until(time.Now()) { // impossible
			end = r.StartNS
		}
		want := fmt.Sprint(i, end)
		if got[i] != want || files[i] != want {
			t.Errorf("row %d: %s, of its file %s, want %s", i, got[i], files[i], want)
		}
	}
	// Without missing ends the test would prove nothing.
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var missing int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM read_parquet('"+root+"/date=*/*.parquet') WHERE end_ns IS NULL").Scan(&missing); err != nil || missing != 5 {
		t.Errorf("%d ends are not stored, %v", missing, err)
	}
}

// A statement that does not use the end reads neither the end nor the columns from which it is computed.
func TestEnds_NotReadUnlessSelected(t *testing.T) {
	rows := oddEnds()
	rows[0].Resource = &methodspan.Resource{Service: "other", Version: "1"} // a column with one value in all rows is not read
	root := fixture.Write(t, fixture.Items("a-1", rows...))
	w, err := Open(t.Context(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	plan := func(statement string) string {
		t.Helper()
		var key, text string
		if err := w.db.QueryRowContext(t.Context(), "EXPLAIN "+statement).Scan(&key, &text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	without := plan("SELECT method, MAX(start_ns) FROM method_calls WHERE service = 'shop' GROUP BY method")
	if !strings.Contains(without, "service='shop'") {
		t.Errorf("the filter does not reach the files:\n%s", without)
	}
	for _, column := range []string{"end_ns", "wall_ns"} {
		if strings.Contains(without, column) {
			t.Errorf("%s is read:\n%s", column, without)
		}
	}
	if with := plan("SELECT MAX(end_ns) FROM method_calls"); !strings.Contains(with, "wall_ns") {
		t.Errorf("the plan does not show what is read:\n%s", with)
	}
}

// The query that the docs recommend to other programs reads the table.
func TestFiles_ReadableByOtherPrograms(t *testing.T) {
	rows := oddEnds()
	root := fixture.Write(t, fixture.Items("a-1", rows...))
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found, err := db.QueryContext(t.Context(), "SELECT row_seq, end_ns FROM (SELECT "+columns.Full+" FROM read_parquet('"+root+"/date=*/*.parquet')) ORDER BY row_seq")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	n := 0
	for ; found.Next(); n++ {
		var seq, end int64
		if err := found.Scan(&seq, &end); err != nil {
			t.Fatal(err)
		}
		if end != rows[seq].EndNS {
			t.Errorf("row %d ends at %d, want %d", seq, end, rows[seq].EndNS)
		}
	}
	if found.Err() != nil || n != len(rows) {
		t.Errorf("%d rows, %v", n, found.Err())
	}
}
