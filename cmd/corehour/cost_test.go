package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const someOwners = `{"version":1,"owners":[{"class":"shop/tax","owner":"tax-team"}]}`

func TestCost_Flags(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--by", "methods"}, `did you mean "method"?`},
		{[]string{"--by", "owner"}, "--owners"},
		{[]string{"--by", "class", "--percentiles"}, "--percentiles"},
		{[]string{"--slack", "env:X"}, "no effect without --budgets"},
		{[]string{"--budgets", "x", "--service", "shop"}, "leave --service"},
		{[]string{"--budgets", "/nonexistent"}, "--budgets"},
		{[]string{"--prices", write(t, "bad.yaml", "[]")}, "--prices"},
		{[]string{"--budgets", write(t, "b.json", `{"version":1,"budgets":[{"name":"a","owner":"x","usd_per_day":1}]}`)}, "no file of owners: give --owners"},
	} {
		if r := corehour(append([]string{"cost"}, tc.args...)...); r.code != exitFailed || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%q: %+v", tc.args, r)
		}
	}
}

// An exceeded budget is reported once, and its alert is resolved when the budget is raised.
func TestBudgets(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 1)
	chat := newInbox(t)
	t.Setenv("COREHOUR_TEST_CHAT", chat.URL)
	files := write(t, "owners.json", someOwners)
	budgets := write(t, "budgets.json", `{"version":1,"budgets":[
		{"name":"shop","service":"shop","usd_per_month":50}, {"name":"tax","owner":"tax-team","usd_per_day":0.0001},
		{"name":"log","class":"shop/log","usd_per_day":1}, {"name":"other","service":"other","usd_per_day":1}, {"name":"odd"}]}`)
	args := []string{"cost", "--warehouse", root, "--owners", files, "--budgets", budgets, "--slack", "env:COREHOUR_TEST_CHAT"}
	r := corehour(args...)
	if r.code != exitFound || !strings.Contains(r.stderr, "budgets[4]") {
		t.Errorf("%+v", r)
	}
	golden(t, "budgets.txt", r.stdout)
	if got := chat.take(); len(got) != 2 || !strings.Contains(strings.Join(got, ""), "`tax-team`") {
		t.Errorf("told %q", got)
	}
	r = corehour(append(args, "--by", "owner", "--format", "json")...)
	var answer struct {
		Groups  []map[string]any
		Budgets struct{ Spendings, Alerts []map[string]any }
	}
	if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || r.code != exitFound || len(chat.take()) != 0 ||
		len(answer.Groups) != 2 || len(answer.Budgets.Spendings) != 4 || len(answer.Budgets.Alerts) != 2 {
		t.Errorf("%v %+v", err, r)
	}
	raised := `{"version":1,"budgets":[{"name":"shop","service":"shop","usd_per_month":500}]}`
	if err := os.WriteFile(budgets, []byte(raised), 0o600); err != nil {
		t.Fatal(err)
	}
	if r = corehour(args...); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	got := strings.Join(chat.take(), "\n")
	if !strings.Contains(got, "planned are $16.44 a day") || !strings.Contains(got, "the budget was removed") {
		t.Errorf("told %q", got)
	}
}

// Unknown costs can break a budget, so it is not known to be kept.
func TestBudgets_CannotTell(t *testing.T) {
	clock(t, evening)
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Counts("a.B", fixture.Start, time.Minute, 1)
	p.Beat(fixture.Start, time.Minute, time.Second, true).Process.Cores = 0
	budgets := write(t, "budgets.json", `{"version":1,"budgets":[{"name":"shop","service":"shop","usd_per_day":100}]}`)
	if r := corehour("cost", "--warehouse", fixture.Write(t, []methodspan.Item{p.Item()}), "--budgets", budgets); r.code != exitCannotTell || !strings.Contains(r.stdout, "unknown") {
		t.Errorf("%+v", r)
	}
}

// TestCost_Options: flags reach the computation. --prices applies to past costs, because a price book replaces stored
// prices.
func TestCost_Options(t *testing.T) {
	clock(t, evening)
	p := fixture.NewProcess("1", "a", fixture.Start)
	for n := range 40 {
		at := fixture.Start.Add(time.Duration(n) * time.Minute)
		p.Counts("shop.Known", at, time.Minute, 1)
		p.Call("shop.Known", "(entry)", at, time.Second, time.Second, 1, 1)
		assumed := p.Call("shop.Assumed", "(entry)", at, time.Second, time.Second, 1, 1)
		assumed.WeightBasis, assumed.Calls = methodspan.BasisAssumed, 1
		driver := p.Call("x", "shop.Known", at, time.Millisecond, time.Millisecond, 1, 1)
		driver.Class, driver.Method, driver.WeightBasis, driver.Calls = "io.opentelemetry.jdbc", "SELECT", methodspan.BasisThreshold, 1
	}
	root := fixture.Write(t, []methodspan.Item{p.Item()})
	type method struct {
		Method  string
		SelfUSD *float64               `json:"self_usd"`
		Wall    *struct{ P50 float64 } `json:"wall_ns"`
	}
	ask := func(flags ...string) map[string]method {
		t.Helper()
		r := corehour(append([]string{"cost", "--warehouse", root, "--json"}, flags...)...)
		var found struct{ Methods []method }
		if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || r.code != exitNothing {
			t.Fatalf("%q: %v, %+v", flags, err, r)
		}
		methods := map[string]method{}
		for _, m := range found.Methods {
			methods[m.Method] = m
		}
		return methods
	}
	plain := ask()
	if m := plain["Known"]; m.SelfUSD == nil || m.Wall != nil || plain["Assumed"].SelfUSD != nil || len(plain) != 3 {
		t.Fatalf("%+v", plain)
	}
	expensive := ask("--prices", write(t, "expensive.yaml", "default: {usd_per_core_hour: 0.5}\n"))
	if ratio := *expensive["Known"].SelfUSD / *plain["Known"].SelfUSD; ratio < 9.999 || ratio > 10.001 {
		t.Errorf("at ten times the price %v times the cost", ratio)
	}
	if m := ask("--include-assumed")["Assumed"]; m.SelfUSD == nil {
		t.Error("--include-assumed: no dollars")
	}
	if m := ask("--percentiles")["Known"]; m.Wall == nil || m.Wall.P50 == 0 {
		t.Errorf("--percentiles: %+v", m)
	}
	if m := ask("--no-frameworks"); len(m) != 2 {
		t.Errorf("--no-frameworks: %+v", m)
	}
	// The default --since does not count back from a --to in the far future, but from now.
	if m := ask("--to", "9999-12-31"); len(m) != 3 {
		t.Errorf("--to: %+v", m)
	}
}

// A warning names the window that is evaluated if rows of it are rolled up.
func TestCost_WarnsOfWiderWindow(t *testing.T) {
	clock(t, fixture.Start.Add(30*24*time.Hour))
	root := twoReleases(t, 1)
	if r := corehour("compact", "--warehouse", root, "--hour-after", "7d"); r.code != exitNothing {
		t.Fatalf("%+v", r)
	}
	const warning = "corehour cost: rows of that time are rolled up by hour: evaluated 2026-03-10 14:30:00 IST to 2026-03-10 16:30:00 IST\n"
	for _, c := range []struct{ from, to, want string }{{"2026-03-10 14:40", "2026-03-10 16:00", warning}, {"2026-03-10 14:30", "2026-03-10 16:30", ""}} {
		if r := corehour("cost", "--warehouse", root, "--from", c.from, "--to", c.to, "--tz", "Asia/Kolkata"); r.code != exitNothing || r.stderr != c.want {
			t.Errorf("%+v: want %q", r, c.want)
		}
	}
}
