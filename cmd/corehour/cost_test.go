package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/ledger"
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

func TestCost_By(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	root := twoReleases(t, 1)
	files := write(t, "owners.json", someOwners)
	all := ""
	for _, args := range [][]string{
		{"--by", "owner", "--owners", files}, {"--by", "service,version"}, {"--by", "class"}, {"--by", "environment"}, {"--by", "caller,method"},
		{"--percentiles", "--top", "1"},
	} {
		r := corehour(append([]string{"cost", "--warehouse", root}, args...)...)
		if r.code != exitNothing || r.stderr != "" {
			t.Errorf("%q: %+v", args, r)
		}
		all += strings.ReplaceAll(strings.Join(args, " "), files, "owners.json") + "\n" + r.stdout + "\n"
		r = corehour(append([]string{"cost", "--warehouse", root, "--format", "csv"}, args...)...)
		if rows, err := csv.NewReader(strings.NewReader(r.stdout)).ReadAll(); err != nil || len(rows) < 2 {
			t.Errorf("%q: %d lines of CSV, %v", args, len(rows), err)
		}
	}
	golden(t, "cost_by.txt", all)
}

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
	r = corehour(append(args, "--by", "class", "--format", "json")...)
	var answer struct {
		Groups  []map[string]any
		Budgets struct{ Spendings, Alerts []map[string]any }
	}
	if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || r.code != exitFound || len(chat.take()) != 0 ||
		len(answer.Groups) != 4 || len(answer.Budgets.Spendings) != 4 || len(answer.Budgets.Alerts) != 2 {
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

// --prices applies to past costs as well, because the warehouse stores no prices.
func TestPrices(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 1)
	self := func(args ...string) float64 {
		t.Helper()
		r := corehour(append([]string{"cost", "--warehouse", root, "--format", "json"}, args...)...)
		var report struct {
			Methods []struct {
				SelfUSD *float64 `json:"self_usd"`
			}
			Services []struct {
				PaidUSD *float64 `json:"paid_usd"`
			}
		}
		if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.code != exitNothing {
			t.Fatalf("%v %+v", err, r)
		}
		if report.Methods[0].SelfUSD == nil || report.Services[0].PaidUSD == nil {
			return 0
		}
		return *report.Methods[0].SelfUSD
	}
	expensive := write(t, "expensive.yaml", "default: {usd_per_core_hour: 0.5}\n")
	if ratio := self("--prices", expensive) / self(); ratio < 9.999 || ratio > 10.001 {
		t.Errorf("at ten times the price %v times the cost", ratio)
	}
	if usd := self("--prices", write(t, "elsewhere.yaml", "prices: [{region: mars, usd_per_core_hour: 1}]\n")); usd != 0 {
		t.Errorf("%v dollars without a price", usd)
	}
	if r := corehour("cost", "--warehouse", root, "--prices", write(t, "bad.yaml", "[]")); r.code != exitFailed || !strings.Contains(r.stderr, "--prices") {
		t.Errorf("%+v", r)
	}
}

// Costs by goroutine group, of raw rows and of a day that is rolled up.
func TestCost_ByGroup(t *testing.T) {
	root := filepath.Join(t.TempDir(), "warehouse")
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range 120 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute / 2)
		p.Counts("a.B", at, time.Minute/2, 10)
		for j, group := range []string{"batch", "batch", "web", ""} {
			cpu := time.Duration(100+i%7) * time.Millisecond
			if group == "" {
				cpu /= 2 // every group has another cost, so that their order does not depend on rounding
			}
			p.Call("a.B", "(entry)", at.Add(time.Duration(j)*time.Second), time.Second, cpu, 0.4, 1).Group = group
		}
		p.Beat(at, time.Minute/2, 2*time.Second, i == 119)
	}
	fixture.Append(t, root, fixture.Start.Add(2*time.Hour), []methodspan.Item{p.Item()})
	clock(t, fixture.Start.Add(2*time.Hour))
	r := corehour("cost", "--warehouse", root, "--by", "group")
	if r.code != exitNothing || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	golden(t, "cost_by_group.txt", r.stdout)
	groups := func() map[string]float64 {
		t.Helper()
		r := corehour("cost", "--warehouse", root, "--by", "group", "--format", "csv", "--since", "30d")
		rows, err := csv.NewReader(strings.NewReader(r.stdout)).ReadAll()
		if err != nil || r.code != exitNothing {
			t.Fatalf("%v %+v", err, r)
		}
		hours, name, found := slices.Index(rows[0], "self_core_hours"), slices.Index(rows[0], "group"), map[string]float64{}
		for _, row := range rows[1:] {
			x, err := strconv.ParseFloat(row[hours], 64)
			if err != nil {
				t.Fatal(err)
			}
			found[row[name]] = x
		}
		return found
	}
	before := groups()
	if ratio := before["batch"] / before["web"]; len(before) != 3 || ratio < 1.999 || ratio > 2.001 {
		t.Errorf("%v", before)
	}
	clock(t, fixture.Start.Add(80*time.Hour))
	if r := corehour("compact", "--warehouse", root, "--hour-after", "1d"); r.code != exitNothing {
		t.Fatalf("%+v", r)
	}
	after := groups()
	if whole := before["batch"] + before["web"] + before["(none)"]; len(after) != 1 || after["(unknown)"]/whole < 0.999999 || after["(unknown)"]/whole > 1.000001 {
		t.Errorf("%v, before it was rolled up %v", after, before)
	}
}

// Self costs that were estimated above the process CPU are reduced to it, and cost and check print a note.
func TestCost_NamesReconciled(t *testing.T) {
	clock(t, evening)
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range 60 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.B", at, time.Minute, 10)
		p.Call("a.B", methodspan.CallerEntry, at, time.Second, time.Duration(100+i%7)*time.Millisecond, 0.1, 1)
		p.Beat(at, time.Minute, 800*time.Millisecond, i == 59)
	}
	root := fixture.Write(t, []methodspan.Item{p.Item()})
	const excess = "self costs of shop were estimated at 0.0171 core-h in all, more than its process CPU of 0.0133, and are reconciled with it"
	for _, command := range []string{"cost", "check"} {
		if r := corehour(command, "--warehouse", root, "--wide"); r.code != exitNothing || !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), excess) {
			t.Errorf("%s: %+v", command, r)
		}
	}
	var found ledger.Accounts
	r := corehour("check", "--warehouse", root, "--json")
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || len(found.Reconciled) != 1 {
		t.Fatalf("%v, %+v", err, r)
	}
	if s := found.Reconciled[0]; s.Name != "shop" || math.Abs(s.ProcessCoreHours-48./3600) > 1e-9 || !(s.MeasuredCoreHours > s.ProcessCoreHours) {
		t.Errorf("%+v", s)
	}
}

// A method never has more CPU time than wall time. If by chance the calls with CPU time differ from those
// with wall time alone, both figures use the calls that have both.
func TestCost_CPUWithinWall(t *testing.T) {
	clock(t, evening)
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range 40 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.B", at, time.Minute, 100)
		for range 9 {
			p.Call("a.B", methodspan.CallerEntry, at, time.Millisecond, -1, 0.1, 0.1)
		}
		p.Call("a.B", methodspan.CallerEntry, at, 3*time.Millisecond, 2*time.Millisecond, 0.1, 0.1)
	}
	r := corehour("cost", "--warehouse", fixture.Write(t, []methodspan.Item{p.Item()}), "--percentiles", "--json")
	var found cost.Table
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || len(found.Methods) != 1 {
		t.Fatalf("%v, %+v", err, r)
	}
	near := func(what string, ns, want float64) {
		if math.Abs(ns/want-1) > 0.011 {
			t.Errorf("%s: %.0f ns, want %.0f", what, ns, want)
		}
	}
	m := &found.Methods[0]
	near("CPU a call", *m.CPUNSPerCall, 2e6)
	near("wall a call", *m.WallNSPerCall, 3e6)
	for _, p := range [][2]float64{{m.CPU.P50, m.Wall.P50}, {m.CPU.P95, m.Wall.P95}, {m.CPU.P99, m.Wall.P99}} {
		near("CPU percentile", p[0], 2e6)
		near("wall percentile", p[1], 3e6)
	}
}
