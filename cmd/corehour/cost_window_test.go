package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/test/fixture"
)

// dayOf runs cost on one service and returns its table, the dollars per observed day, and stderr.
func dayOf(t *testing.T, args ...string) (r cost.Table, usd float64, warning string) {
	t.Helper()
	got := corehour(append([]string{"cost", "--format", "json"}, args...)...)
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.code != exitNothing || len(r.Services) != 1 {
		t.Fatalf("%v: %v %+v", args, err, got)
	}
	return r, *r.Services[0].PaidUSD / r.ObservedDays, got.stderr
}

// A window that cuts hourly rollup rows is widened to whole hours, with a warning.
func TestCost_RowsCutByWindow(t *testing.T) {
	unracedWhenShort(t)
	clock(t, fixture.Start.Add(30*24*time.Hour))
	root := idleShop(t, time.Second, nil)
	for _, level := range []string{"raw", "minute", "hour"} {
		if level != "raw" {
			if r := corehour("compact", "--warehouse", root, "--"+level+"-after", "7d"); r.code != exitNothing {
				t.Fatalf("%+v", r)
			}
		}
		for _, window := range []struct {
			args []string
			hour string // evaluated window for hourly rows, if it differs
		}{
			{[]string{"--from", "2026-03-10 09:00", "--to", "2026-03-10 09:06"}, "2026-03-10 09:00:00 UTC to 2026-03-10 10:00:00 UTC"},
			{[]string{"--from", "2026-03-10 09:05", "--to", "2026-03-10 09:50"}, "2026-03-10 09:00:00 UTC to 2026-03-10 10:00:00 UTC"},
			{[]string{"--from", "2026-03-10 09:59:30", "--to", "2026-03-10 12:00"}, "2026-03-10 09:00:00 UTC to 2026-03-10 12:00:00 UTC"},
			{[]string{"--from", "2026-03-10", "--to", "2026-03-11", "--tz", "Asia/Kolkata"}, "2026-03-10 00:00:00 IST to 2026-03-11 00:30:00 IST"},
			{[]string{"--from", "2026-03-10 09:00", "--to", "2026-03-10 10:00"}, ""},
		} {
			args := append([]string{"--warehouse", root}, window.args...)
			if level != "hour" {
				if got := corehour(append([]string{"cost"}, args...)...); strings.Contains(got.stderr, "by hour") {
					t.Errorf("%s: %+v", level, got)
				}
				continue
			}
			r, usd, warning := dayOf(t, args...)
			if math.Abs(usd/4.8-1) > 1e-6 {
				t.Errorf("%s %v: %v dollars a day from %s to %s, %v days", level, window.args, usd, r.From, r.To, r.ObservedDays)
			}
			want := ""
			if window.hour != "" {
				want = fmt.Sprintf("corehour cost: rows of that time are rolled up by hour: evaluated %s\n", window.hour)
			}
			if warning != want || (r.RowsBy == "hour") != (want != "") {
				t.Errorf("%v: %q, %q, want %q", window.args, r.RowsBy, warning, want)
			}
		}
	}
}

// The overhead of probes is subtracted also in windows that end while the process still runs.
func TestCost_MinutesOfLongRun(t *testing.T) {
	clock(t, fixture.Start.Add(time.Hour))
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
		r, _, _ := dayOf(t, "--warehouse", root, "--from", from.Format(time.RFC3339), "--to", from.Add(time.Minute).Format(time.RFC3339))
		if len(r.Methods) != 1 || r.Methods[0].SelfCoreHours == nil {
			t.Fatalf("minute %d: %+v", i, r.Methods)
		}
		if ns := *r.Methods[0].SelfCoreHours * 3.6e12 / 1000; math.Abs(ns-8500) > 1 {
			t.Errorf("minute %d: %v ns a call, want 8500", i, ns)
		}
	}
}

// Hours without a process cost nothing. Hours before the first row are not observed.
func TestCost_SilentHours(t *testing.T) {
	unracedWhenShort(t)
	run := func(at time.Time) []methodspan.Item {
		p := fixture.NewProcess("1", "a", at)
		p.Counts("a.B", at, time.Hour, 3)
		p.Call("a.B", "(entry)", at, time.Second, time.Millisecond, 1, 1)
		p.Beat(at, time.Hour, time.Second, true)
		return []methodspan.Item{p.Item()}
	}
	now := fixture.Start.Add(20 * time.Hour)
	clock(t, now)
	budgets := write(t, "budgets.json", `{"version":1,"budgets":[{"name":"job","service":"shop","usd_per_day":1}]}`)
	alone := fixture.Write(t, run(fixture.Start))
	before := fixture.Write(t, run(fixture.Start.Add(-5*time.Hour)), run(fixture.Start))
	older := fixture.Write(t, run(fixture.Start.Add(-72*time.Hour)), run(fixture.Start))
	for _, test := range []struct {
		what, root string
		args       []string
		days, usd  float64
	}{
		{"the only row", alone, []string{"--since", "24h"}, 20. / 24, 0.1 * 24 / 20},
		{"a row of the same date before", before, []string{"--since", "24h"}, 1, 0.1},
		{"a row of a date before", older, []string{"--since", "24h"}, 1, 0.1},
		{"until a time to come", older, []string{"--since", "48h", "--to", now.Add(24 * time.Hour).Format(time.RFC3339)}, 1, 0.1},
		{"the past", older, []string{"--from", fixture.Start.Format(time.RFC3339), "--to", fixture.Start.Add(2 * time.Hour).Format(time.RFC3339)}, 2. / 24, 1.2},
		{"everything", older, []string{"--since", "1000h"}, 92. / 24, 0.2 * 24 / 92},
	} {
		r, usd, _ := dayOf(t, append([]string{"--warehouse", test.root}, test.args...)...)
		if math.Abs(r.ObservedDays-test.days) > 1e-9 || math.Abs(usd/test.usd-1) > 1e-6 {
			t.Errorf("%s: %v dollars a day of %v days, want %v of %v", test.what, usd, r.ObservedDays, test.usd, test.days)
		}
	}
	if r := corehour("cost", "--warehouse", alone, "--since", "24h", "--budgets", budgets); r.code != exitNothing || !strings.Contains(r.stdout, "kept") {
		t.Errorf("%+v", r)
	}
}
