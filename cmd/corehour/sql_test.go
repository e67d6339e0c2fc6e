package main

import (
	"encoding/csv"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/fixture/remote"
)

// TestCSV_OneColumnAllRows: CSV readers skip empty lines, so a row with a single NULL is not written as an
// empty line.
func TestCSV_OneColumnAllRows(t *testing.T) {
	r := corehour("sql", "--warehouse", twoReleases(t, 1), "--format", "csv", "SELECT a FROM (VALUES ('x'), (NULL), ('y')) v(a)")
	rows, err := csv.NewReader(strings.NewReader(r.stdout)).ReadAll()
	if want := [][]string{{"a"}, {"x"}, {""}, {"y"}}; err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("%v %v of %q", err, rows, r.stdout)
	}
}

// TestSQL_WindowAfterWeighting: both views contain the rows that start within the window, from files and
// from BigQuery. Their weights are computed from all rows of their days.
func TestSQL_WindowAfterWeighting(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	clock(t, fixture.Start.Add(70*time.Minute)) // the end of the rows, which start at 09:00
	root := twoReleases(t, 0.3)
	_, remoteRoot := remote.Serve(t, root)
	statement := func(view, where string) string {
		return "SELECT COUNT(*) AS n, SUM(calls) AS calls, ROUND(SUM(cpu_ns), 0) AS cpu, MIN(start_ns) AS first_ns, MAX(start_ns) AS last_ns" +
			map[bool]string{true: ", ROUND(SUM(w * cpu_ns), 0) AS weighed, ROUND(SUM(w_wall), 3) AS calls_weighed"}[view == "method_cost"] +
			" FROM " + view + where
	}
	ask := func(warehouse, text string, flags ...string) string {
		t.Helper()
		r := corehour(append(append([]string{"sql", "--warehouse", warehouse, "--format", "csv"}, flags...), text)...)
		if r.code != exitNothing {
			t.Fatalf("%s: %+v", text, r)
		}
		return r.stdout
	}
	from, to := fixture.Start.Add(10*time.Minute), fixture.Start.Add(40*time.Minute+7*time.Second)
	for _, window := range []struct {
		flags []string
		where string
	}{
		{[]string{"--since", "1h"}, fmt.Sprintf(" WHERE start_ns >= %d", from.UnixNano())},
		{[]string{"--from", from.Format(time.RFC3339), "--to", to.Format(time.RFC3339)}, fmt.Sprintf(" WHERE start_ns >= %d AND start_ns < %d", from.UnixNano(), to.UnixNano())},
		{[]string{"--to", to.Format(time.RFC3339)}, fmt.Sprintf(" WHERE start_ns < %d", to.UnixNano())},
	} {
		for _, view := range []string{"method_calls", "method_cost"} {
			whole, want := ask(root, statement(view, "")), ask(root, statement(view, window.where))
			if want == whole {
				t.Fatalf("%s%s holds all rows: the test shows nothing", view, window.where)
			}
			for _, warehouse := range []string{root, remoteRoot} {
				if got := ask(warehouse, statement(view, ""), window.flags...); got != want {
					t.Errorf("%s of %s with %q:\n%swant\n%s", view, warehouse, window.flags, got, want)
				}
			}
		}
	}
	// The window also applies if the statement does not contain the name of the view, and to exported files.
	hidden := "SELECT COUNT(*) AS n FROM query_table('method_' || 'cost')"
	if got, want := ask(root, hidden, "--since", "1h"), ask(root, "SELECT COUNT(*) AS n FROM method_cost", "--since", "1h"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	path := filepath.Join(t.TempDir(), "hour.parquet")
	want := strings.TrimSpace(strings.TrimPrefix(ask(root, "SELECT COUNT(*) AS n FROM method_calls", "--since", "1h"), "n\n"))
	if r := corehour("sql", "--warehouse", root, "--since", "1h", "--output", path, "SELECT * FROM method_calls"); !strings.Contains(r.stderr, "wrote "+want+" rows") {
		t.Errorf("want %s rows: %+v", want, r)
	}
}
