package sqlanswer

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/fixture/remote"
)

func open(t *testing.T, address string, window query.Window) *query.Warehouse {
	t.Helper()
	w, err := query.Open(t.Context(), address, window)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// printed returns the answer to a statement in a format.
func printed(t *testing.T, w *query.Warehouse, text, zone string, format output.Format) string {
	t.Helper()
	table, err := w.User(t.Context(), text, 100)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Document(table, location, format).Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// oneRow returns a warehouse with a single row.
func oneRow(t *testing.T) string {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Call("a.B", "(entry)", fixture.Start, 1, 1, 1, 1)
	return fixture.Write(t, []methodspan.Item{p.Item()})
}

// civil lists SQL expressions whose text does not depend on the reader's time zone.
var civil = []string{
	"DATE '2026-03-10'", "DATE '1969-12-31'", "TIME '00:30:00'", "TIME '23:59:59.25'", "TIMETZ '10:00:00.5+05:30'", "TIMETZ '10:00:00-07'",
	"INTERVAL '1 day'", "INTERVAL '0 seconds'", "INTERVAL '-14 months 3 days -1.5 seconds'", "INTERVAL '400 hours 90 seconds'", "INTERVAL '2 years 1 month -2 days'",
	"UUID '8d5e4f8e-0000-1000-8000-00805f9b34fb'", "CAST(NULL AS DATE)", "CAST(NULL AS INTERVAL)",
	"MAP{1: 2}", "MAP{'a': 1, 'b c': NULL}", "MAP{'it''s': 'x', '': ' y', 'null': 'k=v', 'z,': '\\e', 'p(': 'q\"'}", "MAP{DATE '2026-03-10': INTERVAL '1 day'}",
	"MAP{1: MAP{'a': true}}", "MAP{}", "CAST(NULL AS MAP(INTEGER, DATE))", "union_value(day := DATE '2026-03-10')",
}

// Such values are printed as the engine casts them to text, in any time zone.
func TestDocument_CivilValues(t *testing.T) {
	selected := make([]string, len(civil))
	for i, v := range civil {
		selected[i] = fmt.Sprintf("%s AS v%d, COALESCE(CAST(%s AS VARCHAR), '') AS t%d", v, i, v, i)
	}
	w, text := open(t, oneRow(t), query.Window{}), "SELECT "+strings.Join(selected, ", ")
	for _, zone := range []string{"UTC", "America/New_York", "Asia/Tokyo"} {
		rows, err := csv.NewReader(strings.NewReader(printed(t, w, text, zone, output.CSV))).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("%q, %v", rows, err)
		}
		for i, v := range civil {
			if shown, want := rows[1][2*i], rows[1][2*i+1]; shown != want {
				t.Errorf("%s in %s: shown as %q, want %q", v, zone, shown, want)
			}
		}
	}
}

// Lists, structs and maps are printed as JSON, including the dates in them. Instants are printed in the time zone.
func TestDocument_NestedValues(t *testing.T) {
	const text = "SELECT [DATE '2026-03-10', NULL] AS list, {'day': DATE '2026-03-10', 'at': TIME '10:00:00', 'n': 1} AS record, " +
		"MAP{DATE '2026-03-10': INTERVAL '1 day'} AS of_days, MAP{2: [1], 1: []} AS of_numbers, TIMESTAMP '2026-03-10 01:00:00' AS instant, DATE '2026-03-10' AS day"
	const want = `[{"list": ["2026-03-10", null], "record": {"at": "10:00:00", "day": "2026-03-10", "n": 1}, "of_days": {"2026-03-10": "1 day"},
		"of_numbers": {"2": [1], "1": []}, "instant": "2026-03-09T21:00:00-04:00", "day": "2026-03-10"}]`
	var a, b any
	got := printed(t, open(t, oneRow(t), query.Window{}), text, "America/New_York", output.JSON)
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &a); err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("got %s, want %s, %v", got, want, err)
	}
}

// CSV readers skip empty lines, so a row with a single NULL is not written as an empty line.
func TestDocument_SingleNull(t *testing.T) {
	text := printed(t, open(t, oneRow(t), query.Window{}), "SELECT a FROM (VALUES ('x'), (NULL), ('y')) v(a)", "UTC", output.CSV)
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if want := [][]string{{"a"}, {"x"}, {""}, {"y"}}; err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("%v %v of %q", err, rows, text)
	}
}

// BigQuery gives the same answers: decimals keep their digits, dates have no time zone, and the views contain the rows
// of the window with the weights of all rows.
func TestDocument_BigQuery(t *testing.T) {
	root := fixture.TwoReleases(t, 0.3)
	_, address := remote.Serve(t, root)
	window := query.Window{From: fixture.Start.Add(10 * time.Minute), To: fixture.Start.Add(40*time.Minute + 7*time.Second)}
	files, stored := open(t, root, window), open(t, address, window)
	const decimal = "SELECT CAST('-1234567890123456789.25' AS DECIMAL(38, 2)) AS a"
	for format, want := range map[output.Format]string{output.CSV: "a\n-1234567890123456789.25\n", output.JSON: "[\n  {\n    \"a\": -1234567890123456789.25\n  }\n]\n"} {
		if got := printed(t, stored, decimal, "UTC", format); got != want {
			t.Errorf("%s: %q", format, got)
		}
	}
	if got := printed(t, stored, "SELECT MIN(event_date) AS day FROM method_calls", "America/New_York", output.CSV); got != "day\n2026-03-10\n" {
		t.Errorf("%q", got)
	}
	for _, view := range []string{"method_calls", "method_cost"} {
		text := "SELECT COUNT(*) AS n, SUM(calls) AS calls, ROUND(SUM(cpu_ns), 0) AS cpu, MIN(start_ns) AS first_ns, MAX(start_ns) AS last_ns" +
			map[bool]string{true: ", ROUND(SUM(w * cpu_ns), 0) AS weighed, ROUND(SUM(w_wall), 3) AS calls_weighed"}[view == "method_cost"] + " FROM " + view
		where := fmt.Sprintf(" WHERE start_ns >= %d AND start_ns < %d", window.From.UnixNano(), window.To.UnixNano())
		want := printed(t, open(t, root, query.Window{}), text+where, "UTC", output.CSV)
		for where, w := range map[string]*query.Warehouse{"files": files, "BigQuery": stored} {
			if got := printed(t, w, text, "UTC", output.CSV); got != want {
				t.Errorf("%s from %s:\n%swant\n%s", view, where, got, want)
			}
		}
	}
}

func TestDistinct(t *testing.T) {
	for _, c := range [][2][]string{
		{{"a", "b"}, {"a", "b"}},
		{{"a", "a", "a"}, {"a", "a_2", "a_3"}},
		{{"a", "a", "a_2"}, {"a", "a_2", "a_2_2"}},
		{{"a_2", "a", "a"}, {"a_2", "a", "a_3"}},
	} {
		if got := distinct(c[0]); !slices.Equal(got, c[1]) {
			t.Errorf("%q become %q, want %q", c[0], got, c[1])
		}
	}
}

// Spreadsheets and scripts read plain decimals.
func TestDocument_NoScientificNotation(t *testing.T) {
	table := &query.Table{Columns: []string{"x", "y", "z"}, Rows: [][]any{{1e-12, 1e21, float32(1e-9)}}}
	var b strings.Builder
	if err := Document(table, time.UTC, output.CSV).Write(&b, output.CSV); err != nil {
		t.Fatal(err)
	}
	if want := "x,y,z\n0.000000000001,1000000000000000000000,0.000000001\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
