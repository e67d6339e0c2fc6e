package cost

import (
	"math"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// idleShop returns a warehouse with one day of two processes on two cores each, which are mostly idle.
func idleShop(t *testing.T, cpu time.Duration, change func(*methodspan.Row)) string {
	t.Helper()
	var commits [][]methodspan.Item
	for _, instance := range []string{"a", "b"} {
		p := fixture.NewProcess("1", instance, fixture.Start.Truncate(24*time.Hour))
		for i := range 24 {
			at := p.Start.Add(time.Duration(i) * time.Hour)
			p.Counts("a.B", at, time.Hour, 3)
			p.Call("a.B", "(entry)", at, time.Second, time.Millisecond, 1, 1)
			row := p.Beat(at, time.Hour, cpu, i == 23)
			if change != nil {
				change(row)
			}
		}
		commits = append(commits, []methodspan.Item{p.Item()})
	}
	return fixture.Write(t, commits...)
}

// date is the window of the date of fixture.Start.
var date = query.Window{From: fixture.Start.Truncate(24 * time.Hour), To: fixture.Start.Truncate(24*time.Hour).AddDate(0, 0, 1)}

// A window that cuts hourly rollup rows is widened to whole hours.
func TestWindow_CutsRows(t *testing.T) {
	root := idleShop(t, time.Second, nil)
	at := func(text string) time.Time {
		x, err := time.Parse("15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return fixture.Start.Truncate(24 * time.Hour).Add(x.Sub(x.Truncate(24 * time.Hour)))
	}
	for _, level := range levels {
		if level.name != "raw" {
			rollUp(t, root, level.policy)
		}
		for _, c := range []struct{ from, to, wholeFrom, wholeTo string }{
			{"09:00:00", "09:06:00", "09:00:00", "10:00:00"}, {"09:05:00", "09:50:00", "09:00:00", "10:00:00"},
			{"09:59:30", "12:00:00", "09:00:00", "12:00:00"}, {"09:00:00", "10:00:00", "", ""},
		} {
			r := computeWith(t, root, Options{Window: query.Window{From: at(c.from), To: at(c.to)}})
			if level.name != "hour" {
				if r.RowsBy == "hour" {
					t.Errorf("%s %+v: rows by %s", level.name, c, r.RowsBy)
				}
				continue
			}
			if usd := *r.Services[0].PaidUSD / r.ObservedDays; math.Abs(usd/4.8-1) > 1e-6 {
				t.Errorf("%+v: %v dollars a day of %v days", c, usd, r.ObservedDays)
			}
			if widened := c.wholeFrom != ""; (r.RowsBy == "hour") != widened || widened && (!r.From.Equal(at(c.wholeFrom)) || !r.To.Equal(at(c.wholeTo))) {
				t.Errorf("%+v: rows by %q from %s to %s", c, r.RowsBy, r.From, r.To)
			}
		}
	}
}

// The overhead of probes is subtracted also in windows that end while the process still runs.
func TestWindow_MinutesOfLongRun(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range 3 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.B", at, time.Minute, 1000)
		for range 10 {
			p.Call("a.B", methodspan.CallerEntry, at, time.Second, 10*time.Microsecond, 0.01, 1)
		}
		p.Beat(at, time.Minute, time.Second, i == 2).Process.Stats = []methodspan.Stat{ // the last ones are the most accurate
			{Name: "probe.cpu.cost_ns", Value: float64(1000 * (1 + i))}, {Name: "probe.inside_ns", Value: float64(500 * (1 + i))},
		}
	}
	root := fixture.Write(t, []methodspan.Item{p.Item()})
	for i := range 3 {
		from := fixture.Start.Add(time.Duration(i) * time.Minute)
		r := computeWith(t, root, Options{Window: query.Window{From: from, To: from.Add(time.Minute)}})
		if len(r.Methods) != 1 || r.Methods[0].SelfCoreHours == nil {
			t.Fatalf("minute %d: %+v", i, r.Methods)
		}
		if ns := *r.Methods[0].SelfCoreHours * 3.6e12 / 1000; math.Abs(ns-8500) > 1 {
			t.Errorf("minute %d: %v ns a call, want 8500", i, ns)
		}
	}
}

// Dollars a day are scaled by the time from the first row to the last counts in the window. Gaps between runs belong
// to it; rows before the window and the time after the last run do not.
func TestWindow_RunningTime(t *testing.T) {
	run := func(hours time.Duration) []methodspan.Item {
		at := fixture.Start.Add(hours * time.Hour)
		p := fixture.NewProcess("1", "a", at)
		p.Counts("a.B", at, time.Hour, 3)
		p.Call("a.B", "(entry)", at, time.Second, time.Millisecond, 1, 1)
		p.Beat(at, time.Hour, time.Second, true)
		return []methodspan.Item{p.Item()}
	}
	now := fixture.Start.Add(20 * time.Hour)
	alone, before, older := fixture.Write(t, run(0)), fixture.Write(t, run(-5), run(0)), fixture.Write(t, run(-72), run(0))
	day := query.Window{From: now.AddDate(0, 0, -1)}
	for _, c := range []struct {
		what, root string
		window     query.Window
		days, usd  float64
	}{
		{"the only run, 19 hours ago", alone, day, 1. / 24, 2.4},
		{"a run before the window", before, day, 1. / 24, 2.4},
		{"a run on a date before", older, day, 1. / 24, 2.4},
		{"until a time to come", older, query.Window{From: day.From, To: now.AddDate(0, 0, 1)}, 1. / 24, 2.4},
		{"the past", older, query.Window{From: fixture.Start, To: fixture.Start.Add(30 * time.Minute)}, 0.5 / 24, 4.8},
		{"two runs", older, query.Window{From: now.AddDate(0, 0, -41)}, 73. / 24, 0.2 * 24 / 73},
	} {
		r := computeWith(t, c.root, Options{Window: c.window})
		if usd := *r.Services[0].PaidUSD / r.ObservedDays; math.Abs(r.ObservedDays-c.days) > 1e-9 || math.Abs(usd/c.usd-1) > 1e-6 {
			t.Errorf("%s: %v dollars a day of %v days, want %v of %v", c.what, usd, r.ObservedDays, c.usd, c.days)
		}
	}
}
