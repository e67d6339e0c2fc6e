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
	r := corehour("regress", "--warehouse", root, "--format", "json")
	if a := firstAlert(t, r); r.code != exitFound || r.stderr != "" || a.Class != "shop/tax" || a.Method != "Rate" || a.BaseVersion != "1.9.0" || a.HeadVersion != "1.10.0" {
		t.Errorf("%+v", r)
	}
	for args, c := range map[string]struct {
		code int
		want string
	}{
		"--format markdown":                 {exitFound, "| ---"},
		"--method threshold":                {exitFound, "REGRESSED"},
		"--base 1.10.0 --head 1.9.0":        {exitNothing, ": no regression; 4 methods"}, // an improvement
		"--threshold 500":                   {exitNothing, ": no regression; 4 methods"},
		"--min-records 100000":              {exitCannotTell, "4 too few records"},
		"--service shopp":                   {exitCannotTell, `nothing of service "shopp" (did you mean "shop"?)`},
		"--from 2020-01-01 --to 2020-01-02": {exitCannotTell, "no rows in this time"},
		"--from 2026-03-10T23:00:00Z --to 2026-03-10T23:30:00Z": {exitCannotTell, "no rows in this time"},
	} {
		r := corehour(append([]string{"regress", "--warehouse", root}, strings.Fields(args)...)...)
		if r.code != c.code || !strings.Contains(unwrapped(r.stdout+r.stderr), c.want) {
			t.Errorf("%s: %+v, want %+v", args, r, c)
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

// TestSQL_ReadOnly: statements that write or read files fail without output.
func TestSQL_ReadOnly(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 1)
	for statement, want := range map[string]int{
		"SELECT * FROM read_text('/etc/passwd')": exitFailed, "DROP VIEW method_cost": exitFailed, "SELECT 1; SELECT 2": exitFailed, "": exitFailed, "nonsense": exitFailed,
		"WITH a AS (SELECT 1 AS x) SELECT * FROM a": exitNothing, "DESCRIBE method_cost": exitNothing, "EXPLAIN ANALYZE SELECT 1;": exitNothing,
	} {
		if r := corehour("sql", "--warehouse", root, statement); r.code != want || (r.stdout == "") != (want == exitFailed) || (r.stderr == "") == (want == exitFailed) {
			t.Errorf("%q: %+v, want exit %d", statement, r, want)
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
	fixture.SkipLong(t)
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

// TestUsage: the error for wrong flags contains their names, the values found and the values accepted.
func TestUsage(t *testing.T) {
	clock(t, evening)
	for line, want := range map[string][]string{
		"tree": {"reserved for a later release"},
		"cost --format html --tz Mars --since -1h --top -1":               {"--format", "--tz", `"Mars"`, "--since", `"-1h"`, "--top"},
		"cost --since 1h --from 2026-01-01":                               {"found both"},
		"cost --from 2026-01-02 --to 2026-01-01":                          {"start before the end"},
		"cost --warehouse gs://bucket/x":                                  {"--warehouse", "gs://"},
		"cost --warehouse /nonexistent":                                   {"/nonexistent", "no warehouse there"},
		"cost --percentiles=maybe":                                        {`corehour cost: --percentiles: want true or false, or nothing after it, found "maybe"`},
		"cost ---by":                                                      {`corehour cost: "---by" is no flag: want --name or --name=value; corehour cost --help lists them`},
		"cost --wide --format csv":                                        {"--wide: has an effect on text only, found --format csv: leave one of them out"},
		"regress --metric gpu --threshold -3 --min-records 0 --every 1ms": {`"gpu"`, "--threshold", "--min-records", "--every"},
		"regress --threshold 1 --min-records 29":                          {"--threshold: want a percentage of 2 or more by evidence", "--min-records: want 30 or more by evidence"},
		"regress --threshold 20%":                                         {`corehour regress: --threshold: want a number like 2.5, found "20%"`},
		"regress --every 5m --from 2026-01-01":                            {"use --since"},
		"regress --every 5m --format csv":                                 {"text or json"},
		"accept 068116bb --reason":                                        {"corehour accept: --reason: want a value (text), found nothing after it"},
		"demo --before 40":                                                {`corehour demo: --before: want a duration like 90s or 5m, found "40"`},
		"sql":                                                             {"SELECT"},
		"sql SELECT 1":                                                    {"in quotes"},
		"sql --service x DESCRIBE":                                        {"filter in WHERE"},
		"sql --limit many DESCRIBE":                                       {`corehour sql: --limit: want a whole number like 20, found "many"`},
	} {
		r := corehour(strings.Fields(line)...)
		for _, w := range want {
			if r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, w) {
				t.Errorf("%s: no %q in %+v", line, w, r)
			}
		}
	}
	for line, want := range map[string]string{"cost --help": "default 24h", "sql -h": "method_cost", "check --help": "lost_in_transit"} {
		if r := corehour(strings.Fields(line)...); r.code != exitNothing || r.stderr != "" || !strings.Contains(r.stdout, want) {
			t.Errorf("%s: no %q in %+v", line, want, r)
		}
	}
}
