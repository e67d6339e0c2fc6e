package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
	goldenfile "github.com/corehour/corehour/test/golden"
)

// TestMain keeps the files that commands cache out of the user's cache directory.
func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "corehour-cache-")
	if err == nil {
		err = os.Setenv("XDG_CACHE_HOME", dir)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir) // temporary: an error does no harm
	os.Exit(code)
}

// clock stops the command's clock at the given time until the test ends.
func clock(t *testing.T, at time.Time) {
	before := now
	now = func() time.Time { return at }
	t.Cleanup(func() { now = before })
}

type result struct {
	code           int
	stdout, stderr string
}

func corehour(args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), args, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

var (
	evening     = fixture.Evening
	twoReleases = fixture.TwoReleases
	golden      = goldenfile.Check
)

func TestRegress(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 0.5)
	r := corehour("regress", "--warehouse", root)
	if r.code != exitFound || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	golden(t, "regress.txt", r.stdout)

	r = corehour("regress", "--warehouse", root, "--format", "json")
	var found struct {
		Alerts       []map[string]any `json:"alerts"`
		CouldNotTell bool             `json:"could_not_tell"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || r.code != exitFound || len(found.Alerts) != 1 {
		t.Fatalf("%v %+v", err, r)
	}
	var lists map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &lists); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"alerts", "accepted", "silenced", "comparisons", "not_compared"} {
		if _, ok := lists[list].([]any); !ok {
			t.Errorf("%s is %v, no list", list, lists[list])
		}
	}
	alert := found.Alerts[0]
	for _, field := range []string{
		"schema", "id", "kind", "service", "environment", "class", "method", "signature", "base_version", "head_version",
		"base_revision", "head_revision", "metric", "base", "head", "change_percent", "interval", "e_value", "records",
		"usd_per_day", "first_seen", "knowable_since", "raised_at", "severity", "owner", "reason", "links",
	} {
		if _, ok := alert[field]; !ok {
			t.Errorf("the alert has no %s", field)
		}
	}
	if alert["class"] != "shop/tax" || alert["method"] != "Rate" || alert["base_version"] != "1.9.0" || alert["head_version"] != "1.10.0" || alert["e_value"].(float64) < 20 {
		t.Errorf("%v", alert)
	}
	change, interval := alert["change_percent"].(float64), alert["interval"].([]any)
	if change < 70 || change > 130 || interval[0].(float64) > change || interval[1].(float64) < change {
		t.Errorf("change %v, interval %v", change, interval)
	}

	r = corehour("regress", "--warehouse", root, "--format", "csv")
	rows, err := csv.NewReader(strings.NewReader(r.stdout)).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Errorf("%d lines of CSV, %v", len(rows), err)
	}
	if r = corehour("regress", "--warehouse", root, "--format", "markdown"); !strings.Contains(r.stdout, "| ---") {
		t.Errorf("%+v", r)
	}
	// With base and head swapped, the change is an improvement.
	if r = corehour("regress", "--warehouse", root, "--base", "1.10.0", "--head", "1.9.0"); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	if r = corehour("regress", "--warehouse", root, "--threshold", "500"); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	// The threshold rule has no e-values.
	r = corehour("regress", "--warehouse", root, "--method", "threshold")
	golden(t, "regress_threshold.txt", r.stdout)
}

func TestRegress_NotEnoughData(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 1)
	one, _ := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a"}, Start: fixture.Start, Minutes: 5, Requests: 5}.Run()
	nameless, _ := fixture.Shop{Seed: 1, Instances: []string{"a"}, Start: fixture.Start, Minutes: 5, Requests: 5}.Run()
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"one version", []string{"--warehouse", fixture.Write(t, one)}, `only version "1" was seen`},
		{"no version", []string{"--warehouse", fixture.Write(t, nameless)}, "set service.version"},
		{"few records", []string{"--warehouse", root, "--min-records", "100000"}, "4 with too few records"},
		{"no such service", []string{"--warehouse", root, "--service", "shopp"}, `nothing of service "shopp" (did you mean "shop"?)`},
		{"no such time", []string{"--warehouse", root, "--from", "2020-01-01", "--to", "2020-01-02"}, "no rows in this time"},
		{"time without versions", []string{"--warehouse", root, "--from", "2026-03-10 23:00", "--to", "2026-03-10 23:30"}, "no rows in this time"},
	} {
		r := corehour(append([]string{"regress"}, tc.args...)...)
		if r.code != exitCannotTell || !strings.Contains(r.stdout+r.stderr, tc.want) {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
}

func TestCost(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 1)
	r := corehour("cost", "--warehouse", root, "--tz", "Europe/Berlin")
	if r.code != exitNothing || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	golden(t, "cost.txt", r.stdout)
	r = corehour("cost", "--warehouse", root, "--format", "json")
	var report struct {
		Methods  []map[string]any `json:"methods"`
		Services []map[string]any `json:"services"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || len(report.Methods) != 4 || len(report.Services) != 1 {
		t.Fatalf("%v %+v", err, r)
	}
	if r = corehour("cost", "--warehouse", root, "--top", "1"); !strings.Contains(r.stdout, "3 more methods") {
		t.Errorf("%+v", r)
	}
	if r = corehour("cost", "--warehouse", root, "--environment", "test"); r.code != exitCannotTell {
		t.Errorf("%+v", r)
	}
}

func TestSQL(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 1)
	r := corehour("sql", "--warehouse", root, "--format", "json", "--since", "6h",
		`SELECT instance, class || '.' || method AS name, CAST(SUM(calls) AS BIGINT) AS calls FROM method_calls WHERE kind = 'counts' GROUP BY ALL ORDER BY ALL LIMIT 1`)
	if want := "[\n  {\n    \"instance\": \"a\",\n    \"name\": \"shop/cart.Cart.Total\",\n    \"calls\": 800\n  }\n]\n"; r.stdout != want || r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	golden(t, "sql.txt", corehour("sql", "--warehouse", root, `
		SELECT version, kind, COUNT(*) AS n, SUM(w * cpu_ns) > 0 AS costs, NULL AS nothing, MIN(event_date) AS day,
			1::DECIMAL(9,2) AS price, [1, 2] AS list, {'a': 'x'} AS struct, 'a'::BLOB AS bytes, 1e300 * 1e300 AS inf
		FROM method_cost GROUP BY ALL ORDER BY ALL`).stdout)
	if r = corehour("sql", "--warehouse", root, "--format", "csv", "SELECT COUNT(*) AS n FROM method_calls"); r.stdout != "n\n13600\n" {
		t.Errorf("%+v", r)
	}
	if r = corehour("sql", "--warehouse", root, "--limit", "2", "SELECT 1 AS a FROM method_calls"); strings.Count(r.stdout, "1\n") != 2 || !strings.Contains(r.stderr, "--limit") {
		t.Errorf("%+v", r)
	}
	if r = corehour("sql", "--warehouse", root, "--format", "json", "SELECT 1 AS a, 2 AS a"); !strings.Contains(r.stdout, `"a_2": 2`) {
		t.Errorf("%+v", r)
	}
}

// TestSQL_Plans: the text output of EXPLAIN keeps the line breaks of the plan and escapes control characters.
func TestSQL_Plans(t *testing.T) {
	root := twoReleases(t, 0.5)
	const text = "EXPLAIN SELECT * FROM method_calls WHERE method = '\x1b[2J' ORDER BY start_ns"
	r := corehour("sql", "--warehouse", root, text)
	lines := strings.Split(r.stdout, "\n")
	if r.code != exitNothing || len(lines) < 10 || !strings.HasPrefix(lines[0], "┌──") || !strings.Contains(r.stdout, "ORDER_BY") || strings.ContainsAny(r.stdout, "\x1b") {
		t.Errorf("%+v", r)
	}
	rows, err := csv.NewReader(strings.NewReader(corehour("sql", "--warehouse", root, "--format", "csv", text).stdout)).ReadAll()
	if err != nil || len(rows) != 2 || rows[0][1] != "explain_value" {
		t.Errorf("%q, %v", rows, err)
	}
	if r := corehour("sql", "--warehouse", root, "PIVOT method_calls ON kind USING SUM(calls)"); r.code != exitFailed || !strings.Contains(r.stderr, "IN (...)") {
		t.Errorf("%+v", r)
	}
}

// TestSQL_ReadOnly: no statement reads or writes anything but the views.
func TestSQL_ReadOnly(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	root := twoReleases(t, 1)
	outside := filepath.Join(t.TempDir(), "secret.csv")
	if err := os.WriteFile(outside, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "date=*", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	before, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"SELECT * FROM read_csv('" + outside + "')",
		"SELECT * FROM '" + outside + "'",
		"SELECT * FROM read_text('/etc/passwd')",
		"SELECT * FROM glob('/*')",
		"COPY (SELECT 1) TO '" + outside + "'",
		"COPY (SELECT 1 AS a) TO '" + files[0] + "' (FORMAT parquet)",
		"CREATE TABLE t AS SELECT 1", "DROP VIEW method_calls", "ATTACH '" + outside + "' AS x", "INSTALL httpfs", "LOAD httpfs",
		"SET enable_external_access = true", "RESET allowed_paths", "EXPORT DATABASE '" + t.TempDir() + "'",
		"SELECT 1; DROP VIEW method_cost", "DROP VIEW method_cost; SELECT 1", "SELECT 1; SELECT 2", "EXPLAIN ANALYZE COPY (SELECT 1) TO '" + outside + "'", "EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO '" + files[0] + "' (FORMAT parquet, USE_TMP_FILE false)",
		"SELECT ?", "", "nonsense",
	} {
		if r := corehour("sql", "--warehouse", root, statement); r.code != exitFailed || r.stdout != "" || r.stderr == "" {
			t.Errorf("%q: %+v", statement, r)
		}
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "a\n1\n" {
		t.Errorf("the file outside is now %q, %v", data, err)
	}
	if data, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(data, before) {
		t.Errorf("a file of the warehouse was written to: %v", err)
	}
	for _, statement := range []string{"WITH a AS (SELECT 1 AS x) SELECT * FROM a", "FROM method_calls LIMIT 1", "DESCRIBE method_cost", "SELECT 1;",
		"EXPLAIN SELECT 1", "EXPLAIN (SELECT 1)", "EXPLAIN FROM method_calls", "explain analyze select 1;", "EXPLAIN ANALYZE (SELECT 1)", "EXPLAIN (FORMAT json) SELECT 1",
		"/* a */ EXPLAIN -- b\n ANALYZE /* c /* d */ */ WITH a AS (SELECT 1 AS x) SELECT * FROM a", "EXPLAIN (ANALYZE, FORMAT json) FROM method_calls", "EXPLAIN ANALYZE DESCRIBE method_cost"} {
		if r := corehour("sql", "--warehouse", root, statement); r.code != exitNothing {
			t.Errorf("%q: %+v", statement, r)
		}
	}
}

func TestCheck(t *testing.T) {
	clock(t, evening)
	p := fixture.NewProcess("1", "a", fixture.Start)
	var items []methodspan.Item
	for i := range 3 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.B", at, time.Minute, 10)
		p.Beat(at, time.Minute, time.Second, i == 2).Process.Stats = []methodspan.Stat{{Name: "export.endpoints", Value: 1}}
		items = append(items, p.Item())
	}
	root := filepath.Join(t.TempDir(), "warehouse")
	fixture.Append(t, root, fixture.Start.Add(3*time.Minute+5*time.Second), items) // committed five seconds after the last row
	r := corehour("check", "--warehouse", root)
	if r.code != exitNothing || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	golden(t, "check.txt", r.stdout)

	// Freshness is computed from the rows, so it does not depend on the file times of a copy.
	moved := t.TempDir()
	if err := os.CopyFS(moved, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(moved, "date=*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for i, f := range files {
		at := fixture.Start.Add(time.Duration(i+1) * 1000 * time.Hour)
		if err := os.Chtimes(f, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if again := corehour("check", "--warehouse", moved); again != r {
		t.Errorf("of a copy:\n%+v\nwant\n%+v", again, r)
	}

	root = fixture.Write(t, append(items[:1:1], items[2]))
	r = corehour("check", "--warehouse", root, "--format", "json", "--since", "6h")
	var report struct {
		Balanced  bool             `json:"balanced"`
		Services  []map[string]any `json:"services"`
		Processes []map[string]any `json:"processes"`
		Losses    map[string]any   `json:"losses"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.code != exitFound {
		t.Fatalf("%v %+v", err, r)
	}
	if report.Balanced || len(report.Services) != 1 || len(report.Processes) != 1 || report.Losses["lost_in_transit"] != 10.0 {
		t.Errorf("%+v", report)
	}
	if r = corehour("check", "--warehouse", root, "--collector", "nowhere"); r.code != exitFailed || !strings.Contains(r.stderr, "--collector") {
		t.Errorf("%+v", r)
	}
}

// TestNames_Escaped: no command prints a control character, in any format, whatever the names contain.
func TestNames_Escaped(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	clock(t, evening)
	const evil = "\x1b[2J'; DROP VIEW method_calls; --\n\u202e=cmd|'/C calc'!A0 <script>"
	var items []methodspan.Item
	for _, version := range []string{"1" + evil, "2" + evil} {
		start := fixture.Start
		factor := time.Duration(1)
		if version[0] == '2' {
			start, factor = start.Add(30*time.Minute), 5
		}
		p := fixture.NewProcess(version, evil, start)
		p.Resource.Service, p.Resource.Environment, p.Resource.ServiceNamespace = "s"+evil, "e"+evil, "n"+evil
		for i := range 30 {
			at := start.Add(time.Duration(i) * time.Minute)
			p.Counts("m", at, time.Minute, 8)
			for j := range 8 {
				p.Call("m", evil, at, time.Second, factor*time.Duration(1000+i+j)*time.Microsecond, 1, 1)
			}
			p.Beat(at, time.Minute, time.Second, i == 29)
			item := p.Item()
			for k := range item.Rows {
				if r := &item.Rows[k]; r.Kind != methodspan.KindProcess {
					r.Class, r.Method, r.Signature = "c"+evil, "m"+evil, evil
				}
			}
			items = append(items, item)
		}
	}
	root := fixture.Write(t, items)
	for _, command := range [][]string{
		{"regress"}, {"cost"}, {"drift", "--to", "2030-01-01"}, {"check"}, {"sql", "SELECT * EXCLUDE (cpu_hist) FROM method_cost"},
		{"regress", "--service", "s" + evil, "--environment", "e" + evil}, {"cost", "--service", evil}, {"regress", "--head", evil},
		{"cost", "--" + evil}, {evil}, {"sql", evil}, {"cost", "--tz", evil}, {"cost", "--from", evil},
	} {
		for _, format := range []string{"text", "json", "markdown", "csv"} {
			args := command
			if command[0] != evil {
				args = append([]string{command[0], "--warehouse", root, "--format", format}, command[1:]...)
			}
			r := corehour(args...)
			for _, c := range r.stdout + r.stderr {
				if c != '\n' && unicode.In(c, unicode.C) {
					t.Fatalf("%q: %U reaches the terminal: %+v", args, c, r)
				}
			}
			if command[0] == "regress" && len(command) != 3 && r.code != exitFound {
				t.Errorf("%q: %+v", args, r)
			}
		}
	}
}

func TestUsage(t *testing.T) {
	clock(t, evening)
	for _, tc := range []struct {
		args []string
		code int
		want []string // substrings of stdout and stderr
	}{
		{nil, exitFailed, []string{"usage: corehour"}},
		{[]string{"--help"}, exitNothing, []string{"usage: corehour", "regress"}},
		{[]string{"help"}, exitNothing, []string{"usage: corehour"}},
		{[]string{"regres"}, exitFailed, []string{`did you mean "regress"?`}},
		{[]string{"tree"}, exitFailed, []string{"reserved for a later release"}},
		{[]string{"cost", "--help"}, exitNothing, []string{"--warehouse", "--tz", "default 24h"}},
		{[]string{"sql", "-h"}, exitNothing, []string{"method_cost"}},
		{[]string{"check", "--help"}, exitNothing, []string{"lost_in_transit"}},
		{[]string{"cost", "--wharehouse=x"}, exitFailed, []string{`did you mean "--warehouse"?`}},
		{[]string{"cost", "x"}, exitFailed, []string{`found the argument "x"`}},
		{[]string{"cost", "--format", "html", "--tz", "Mars", "--since", "-1h", "--top", "-1"}, exitFailed, []string{"--format", "--tz", `"Mars"`, "--since", `"-1h"`, "--top"}},
		{[]string{"cost", "--since", "1h", "--from", "2026-01-01"}, exitFailed, []string{"found both"}},
		{[]string{"cost", "--from", "2026-01-02", "--to", "2026-01-01"}, exitFailed, []string{"start before the end"}},
		{[]string{"regress", "--metric", "gpu", "--threshold", "-3", "--min-records", "0", "--every", "1ms"}, exitFailed, []string{`"gpu"`, "--threshold", "--min-records", "--every"}},
		{[]string{"regress", "--threshold", "1", "--min-records", "29"}, exitFailed, []string{"--threshold: want a percentage of 2 or more by evidence", "--min-records: want 30 or more by evidence"}},
		{[]string{"regress", "--every", "5m", "--from", "2026-01-01"}, exitFailed, []string{"use --since"}},
		{[]string{"regress", "--every", "5m", "--format", "csv"}, exitFailed, []string{"text or json"}},
		{[]string{"cost", "--warehouse", "gs://bucket/x"}, exitFailed, []string{"--warehouse", "gs://"}},
		{[]string{"cost", "--warehouse", "/nonexistent"}, exitFailed, []string{"/nonexistent", "no warehouse there"}},
		{[]string{"sql"}, exitFailed, []string{"SELECT"}},
		{[]string{"sql", "--service", "x", "SELECT 1"}, exitFailed, []string{"filter in WHERE"}},
		{[]string{"sql", "SELECT", "1"}, exitFailed, []string{"in quotes"}},
	} {
		r := corehour(tc.args...)
		if r.code != tc.code {
			t.Errorf("%q: exit %d, want %d", tc.args, r.code, tc.code)
		}
		for _, want := range tc.want {
			if !strings.Contains(r.stdout+r.stderr, want) {
				t.Errorf("%q: no %q in\n%s%s", tc.args, want, r.stdout, r.stderr)
			}
		}
		if (tc.code == exitNothing) != (r.stderr == "") {
			t.Errorf("%q: %+v", tc.args, r)
		}
	}
}
