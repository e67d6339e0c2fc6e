package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/findings"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/drift/evaluation"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/test/fixture"
)

// canary returns a warehouse of a shop with two releases that ran side by side until half an hour before
// the query. One method costs twice as much in the second release.
func canary(t *testing.T) string {
	t.Helper()
	first := fixture.Shop{
		Seed: 1, Version: "1.9.0", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 90, Requests: 20,
		Rate: map[string]float64{fixture.Total: 0.5, fixture.Rate: 0.5, fixture.Log: 0.5},
	}
	second := first
	second.Seed, second.Version, second.Instances = 2, "1.10.0", []string{"c", "d"}
	second.OwnCPU = fixture.DefaultOwnCPU()
	second.OwnCPU[fixture.Rate] *= 2
	items, _ := first.Run()
	more, _ := second.Run()
	return fixture.Write(t, items, more)
}

func decoded[T any](t *testing.T, args ...string) T {
	t.Helper()
	var out T
	r := corehour(append(args, "--json")...)
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || r.code == exitFailed {
		t.Fatalf("%v: %v %+v", args, err, r)
	}
	return out
}

func rateIn(lines []cost.Line, version string) *cost.Line {
	for i := range lines {
		if l := &lines[i]; l.Method == "Rate" && l.Version == version {
			return l
		}
	}
	return nil
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// All commands print the same dollars per day for the same window.
func TestDollarsADay_EqualInAllCommands(t *testing.T) {
	skipLong(t)
	clock(t, evening)
	root := canary(t)
	window := []string{"--warehouse", root, "--from", "2026-03-10 09:00", "--to", "2026-03-10 11:00"}
	ask := func(command ...string) []string { return append(command, window...) }

	byVersion := rateIn(decoded[cost.Table](t, ask("cost", "--by", "method,version")...).Groups, "1.10.0")
	all := rateIn(decoded[cost.Table](t, ask("cost")...).Methods, "")
	if byVersion == nil || all == nil || byVersion.SelfUSDPerDay == nil || byVersion.USDPerDayBasis != "window of 2 h observed" {
		t.Fatalf("%+v %+v", byVersion, all)
	}

	file := filepath.Join(t.TempDir(), "alerts.jsonl")
	raised := decoded[findings.Findings](t, ask("regress", "--alerts", file)...).Alerts
	if len(raised) != 1 || raised[0].USDPerDay == nil {
		t.Fatalf("%+v", raised)
	}
	a := raised[0]
	want := *byVersion.SelfUSDPerDay * (a.Head - a.Base) / a.Head
	if !near(*a.USDPerDay, want) || a.USDPerDayBasis != byVersion.USDPerDayBasis {
		t.Errorf("regress: $%v a day, %s; cost: $%v a day, %s, of which the change is $%v", *a.USDPerDay, a.USDPerDayBasis, *byVersion.SelfUSDPerDay, byVersion.USDPerDayBasis, want)
	}
	if text := corehour(ask("regress", "--wide")...).stdout; !strings.Contains(text, " "+output.Amount(want)+"\n") || !strings.Contains(text, "window of 2 h observed") {
		t.Errorf("want $%s a day:\n%s", output.Amount(want), text)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var stored alert.Alert
	if err := json.Unmarshal(data, &stored); err != nil || stored.USDPerDay == nil || *stored.USDPerDay != *a.USDPerDay {
		t.Errorf("%v: the file of alerts: %+v", err, stored)
	}
	shown := decoded[struct{ Alerts []alert.Alert }](t, ask("report")...)
	if len(shown.Alerts) != 1 || shown.Alerts[0].USDPerDay == nil || !near(*shown.Alerts[0].USDPerDay, want) {
		t.Errorf("report: %+v", shown.Alerts)
	}
	if text := unwrapped(corehour(ask("report", "--format", "text", "--wide")...).stdout); !strings.Contains(text, output.Amount(want)) || !strings.Contains(text, "$/day: window of 2 h observed") {
		t.Errorf("report, want %s:\n%s", output.Amount(want), text)
	}

	// explain covers all versions together, like cost without --by version.
	type account struct {
		Cost    cost.Line
		Verdict struct{ Alerts []alert.Alert }
	}
	methods := decoded[struct{ Methods []account }](t, append([]string{"explain", fixture.Rate}, window...)...).Methods
	if len(methods) != 1 || len(methods[0].Verdict.Alerts) != 1 || methods[0].Cost.SelfUSDPerDay == nil {
		t.Fatalf("explain: %+v", methods)
	}
	own, alerted := methods[0].Cost, methods[0].Verdict.Alerts[0]
	if !near(*own.SelfUSDPerDay, *all.SelfUSDPerDay) || own.USDPerDayBasis != all.USDPerDayBasis || alerted.USDPerDay == nil || !near(*alerted.USDPerDay, want) {
		t.Errorf("explain: %+v %+v, cost: %+v, the change $%v", own, alerted, all, want)
	}

	// The threshold method uses the same definition.
	for _, a := range decoded[findings.Findings](t, ask("regress", "--method", "threshold")...).Alerts {
		if want := *byVersion.SelfUSDPerDay * (a.Head - a.Base) / a.Head; a.Method == "Rate" && (a.USDPerDay == nil || !near(*a.USDPerDay, want)) {
			t.Errorf("by threshold: %+v, want $%v", a, want)
		}
	}
}

// The dollars per day of a release cover the time from its first row on, even if the window starts earlier.
func TestDollarsADay_ReleaseOwnTime(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 0.5)
	raised := decoded[findings.Findings](t, "regress", "--warehouse", root, "--from", "2026-03-10", "--to", "2026-03-10 11:00").Alerts
	line := rateIn(decoded[cost.Table](t, "cost", "--by", "method,version", "--warehouse", root, "--from", "2026-03-10 09:30", "--to", "2026-03-10 11:00").Groups, "1.10.0")
	if len(raised) != 1 || raised[0].USDPerDay == nil || line == nil {
		t.Fatalf("%+v %+v", raised, line)
	}
	a := raised[0]
	if want := *line.SelfUSDPerDay * (a.Head - a.Base) / a.Head; !near(*a.USDPerDay, want) || a.USDPerDayBasis != "window of 1 h 30 min observed" {
		t.Errorf("$%v a day, %s, want $%v", *a.USDPerDay, a.USDPerDayBasis, want)
	}
}

// The dollars of a drift are a share of the method's cost in the week before the evaluation.
func TestDollarsADay_DriftLastWeek(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	clock(t, april)
	priced := months()
	priced.Price = 0.05
	root := priced.Write(t)
	counting := fixture.NewProcess("1.0.0", "c", april.AddDate(0, 0, -12)) // days without counts have an unknown length
	for day := range 6 {
		counting.Counts("shop/seen.Counted", counting.Start.AddDate(0, 0, day), time.Minute, 1)
	}
	fixture.Append(t, root, april.AddDate(0, 0, -6), []methodspan.Item{counting.Item()})
	found := decoded[evaluation.Evaluation](t, "drift", "--warehouse", root)
	if len(found.Alerts) != 2 {
		t.Fatalf("%+v", found.Alerts)
	}
	last, err := time.Parse(time.DateOnly, *found.Services[0].LastEvaluation)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	week := decoded[cost.Table](t, "cost", "--warehouse", root, "--from", date(last.AddDate(0, 0, -7)), "--to", date(last))
	for _, a := range found.Alerts {
		for i := range week.Methods {
			l := &week.Methods[i]
			if l.Class != a.Class || l.Method != a.Method {
				continue
			}
			compared++
			if l.InclusiveUSD == nil || a.USDPerDay == nil {
				t.Fatalf("no price: %+v %+v", l, a)
			}
			want := *l.InclusiveUSD / week.Services[0].ObservedDays * a.ChangePercent / (100 + a.ChangePercent)
			if !near(*a.USDPerDay, want) || a.USDPerDayBasis != l.USDPerDayBasis {
				t.Errorf("%s: $%v a day, %s, want $%v, %s", a.Method, *a.USDPerDay, a.USDPerDayBasis, want, l.USDPerDayBasis)
			}
		}
	}
	if compared != len(found.Alerts) {
		t.Errorf("%d of %d alerts have a line in cost", compared, len(found.Alerts))
	}
}
