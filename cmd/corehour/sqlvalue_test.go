package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/corehour/corehour/test/fixture/remote"
)

// civil lists SQL expressions whose text does not depend on the reader's time zone.
var civil = []string{
	"DATE '2026-03-10'", "DATE '1969-12-31'", "TIME '00:30:00'", "TIME '23:59:59.25'", "TIMETZ '10:00:00.5+05:30'", "TIMETZ '10:00:00-07'",
	"INTERVAL '1 day'", "INTERVAL '0 seconds'", "INTERVAL '-14 months 3 days -1.5 seconds'", "INTERVAL '400 hours 90 seconds'", "INTERVAL '2 years 1 month -2 days'",
	"UUID '8d5e4f8e-0000-1000-8000-00805f9b34fb'", "CAST(NULL AS DATE)", "CAST(NULL AS INTERVAL)",
	"MAP{1: 2}", "MAP{'a': 1, 'b c': NULL}", "MAP{'it''s': 'x', '': ' y', 'null': 'k=v', 'z,': '\\e', 'p(': 'q\"'}", "MAP{DATE '2026-03-10': INTERVAL '1 day'}",
	"MAP{1: MAP{'a': true}}", "MAP{}", "CAST(NULL AS MAP(INTEGER, DATE))", "union_value(day := DATE '2026-03-10')",
}

// TestSQL_CivilValues: such values are printed as the engine casts them to text, for any --tz.
func TestSQL_CivilValues(t *testing.T) {
	root := twoReleases(t, 1)
	selected := make([]string, len(civil))
	for i, v := range civil {
		selected[i] = fmt.Sprintf("%s AS v%d, COALESCE(CAST(%s AS VARCHAR), '') AS t%d", v, i, v, i)
	}
	text := "SELECT " + strings.Join(selected, ", ")
	for _, zone := range []string{"UTC", "America/New_York", "Asia/Tokyo"} {
		r := corehour("sql", "--warehouse", root, "--tz", zone, "--format", "csv", text)
		rows, err := csv.NewReader(strings.NewReader(r.stdout)).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("%v %+v", err, r)
		}
		for i, v := range civil {
			if shown, want := rows[1][2*i], rows[1][2*i+1]; shown != want {
				t.Errorf("%s in %s: shown as %q, want %q", v, zone, shown, want)
			}
		}
	}
}

// TestSQL_NestedCivilValues: lists, structs and maps are printed as JSON, including the dates in them.
func TestSQL_NestedCivilValues(t *testing.T) {
	root := twoReleases(t, 1)
	const text = "SELECT [DATE '2026-03-10', NULL] AS list, {'day': DATE '2026-03-10', 'at': TIME '10:00:00', 'n': 1} AS record, " +
		"MAP{DATE '2026-03-10': INTERVAL '1 day'} AS of_days, MAP{2: [1], 1: []} AS of_numbers, TIMESTAMP '2026-03-10 01:00:00' AS instant, DATE '2026-03-10' AS day"
	const nested = `"list": ["2026-03-10", null], "record": {"at": "10:00:00", "day": "2026-03-10", "n": 1}, "of_days": {"2026-03-10": "1 day"}, "of_numbers": {"2": [1], "1": []}`
	requireJSON := func(got, want string) {
		t.Helper()
		var a, b any
		if err := json.Unmarshal([]byte(want), &b); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(got), &a); err != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("got %s, want %s, %v", got, want, err)
		}
	}
	r := corehour("sql", "--warehouse", root, "--tz", "America/New_York", "--format", "json", text)
	requireJSON(r.stdout, `[{`+nested+`, "instant": "2026-03-09T21:00:00-04:00", "day": "2026-03-10"}]`)
	_, rows := exported(t, root, text+", TIMESTAMP '2026-03-10' AS midnight")
	if want := "[{'list': [2026-03-10, NULL], 'record': {'day': 2026-03-10, 'at': '10:00:00', 'n': 1}, 'of_days': {2026-03-10=1 day}, " +
		"'of_numbers': {2=[1], 1=[]}, 'instant': '2026-03-10 01:00:00', 'day': 2026-03-10, 'midnight': '2026-03-10 00:00:00'}]"; fmt.Sprint(rows) != want {
		t.Errorf("got %s, want %s", rows, want)
	}
}

func TestSQL_BigQueryDates(t *testing.T) {
	_, address := remote.Serve(t, twoReleases(t, 1))
	r := corehour("sql", "--warehouse", address, "--tz", "America/New_York", "--format", "csv", "SELECT MIN(event_date) AS day FROM method_calls")
	if r.code != exitNothing || r.stdout != "day\n2026-03-10\n" {
		t.Errorf("%+v", r)
	}
}
