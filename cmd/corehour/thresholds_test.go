package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/findings"
	"github.com/corehour/corehour/test/fixture"
)

// TestThreshold_PerMethod: a file sets the thresholds of some methods. Invalid entries are left out with a
// message.
func TestThreshold_PerMethod(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 1)
	path := filepath.Join(t.TempDir(), "thresholds.json")
	for _, c := range []struct {
		entry string
		code  int
	}{
		{`{"method": "shop/log", "threshold_percent": 500}`, exitFound},
		{`{"service": "shop", "class": "shop/tax", "threshold_percent": 500}, {"service": 7}`, exitNothing},
	} {
		if err := os.WriteFile(path, []byte(`{"version": 1, "thresholds": [`+c.entry+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		r := corehour("regress", "--warehouse", root, "--method", "threshold", "--thresholds", path)
		if r.code != c.code || strings.Contains(c.entry, "7") != strings.Contains(r.stderr, "left out") {
			t.Errorf("%s: %+v", c.entry, r)
		}
	}
	if r := corehour("regress", "--warehouse", root, "--thresholds", path); r.code != exitFailed || !strings.Contains(r.stderr, "no effect without --method threshold") {
		t.Errorf("%+v", r)
	}
}

// byThresholdOf runs regress with --method threshold and returns its output, with the lines by method.
func byThresholdOf(t *testing.T, root string, args ...string) (result, findings.Findings, map[string]evidence.Verdict) {
	t.Helper()
	r := corehour(append([]string{"regress", "--warehouse", root, "--method", "threshold", "--format", "json"}, args...)...)
	var f findings.Findings
	if err := json.Unmarshal([]byte(r.stdout), &f); err != nil || len(f.Comparisons) != 1 {
		t.Fatalf("%v: %+v", err, r)
	}
	lines := map[string]evidence.Verdict{}
	for _, l := range f.Comparisons[0].Methods {
		if _, twice := lines[l.Method]; twice {
			t.Errorf("two lines of %s", l.Method)
		}
		lines[l.Method] = l
	}
	return r, f, lines
}

// TestThreshold_ExcludesWarmUp: processes of the new version are three times as expensive in their first five
// minutes and as cheap as the old version afterwards, so --warm-up 5m leaves no regression.
func TestThreshold_ExcludesWarmUp(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	for _, known := range []bool{true, false} {
		before := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 60, Requests: 20}
		after := before
		after.Seed, after.Version, after.Instances, after.Start = 2, "2", []string{"c", "d"}, fixture.Start.Add(30*time.Minute)
		old, _ := before.Run()
		cold, _ := after.Run()
		for _, item := range slices.Concat(old, cold) {
			for i := range item.Rows {
				if r := &item.Rows[i]; r.Resource.Version == "2" && time.Unix(0, r.StartNS).Before(after.Start.Add(5*time.Minute)) {
					r.CPUNS, r.WallNS = 3*r.CPUNS, 3*r.WallNS
				}
				if !known {
					item.Rows[i].Resource.ProcessStartNS = 0
				}
			}
		}
		root := fixture.Write(t, old, cold)
		r, f, all := byThresholdOf(t, root)
		if r.code != exitFound || len(f.Alerts) != 4 {
			t.Errorf("starts known %v: with its warm-up: exit %d, %d alerts", known, r.code, len(f.Alerts))
		}
		r, f, warm := byThresholdOf(t, root, "--warm-up", "5m")
		if r.code != exitNothing || len(warm) != 4 {
			t.Errorf("starts known %v: exit %d, alerts %+v", known, r.code, f.Alerts)
		}
		// 2 processes x 20 requests per minute x 5 minutes.
		if b, w := all["Serve"], warm["Serve"]; b.BaseRecords-w.BaseRecords != 200 || b.HeadRecords-w.HeadRecords != 200 {
			t.Errorf("starts known %v: %d and %d records, with warm-up %d and %d", known, w.BaseRecords, w.HeadRecords, b.BaseRecords, b.HeadRecords)
		}
		if r, _, none := byThresholdOf(t, root, "--warm-up", "70m"); r.code != exitCannotTell || len(none) != 0 || !strings.Contains(r.stdout, "nothing that version 2 measured is compared") {
			t.Errorf("starts known %v: all is warm-up: %+v", known, r)
		}
	}
}

// TestThreshold_WarmUpDollars: dollars per day refer to the compared time, so a warm-up of a quarter of that
// time changes them little.
func TestThreshold_WarmUpDollars(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 1)
	_, all, _ := byThresholdOf(t, root)
	_, warm, _ := byThresholdOf(t, root, "--warm-up", "10m")
	if len(all.Alerts) != 1 || len(warm.Alerts) != 1 {
		t.Fatalf("%+v, %+v", all.Alerts, warm.Alerts)
	}
	if ratio := *warm.Alerts[0].USDPerDay / *all.Alerts[0].USDPerDay; ratio < 0.9 || ratio > 1.1 || warm.Alerts[0].Records*4 != all.Alerts[0].Records*3 {
		t.Errorf("%v times the dollars from %d of %d records", ratio, warm.Alerts[0].Records, all.Alerts[0].Records)
	}
}

// TestThreshold_WarmUpOfRollups: rolled-up rows that begin before the end of the warm-up are excluded whole.
func TestThreshold_WarmUpOfRollups(t *testing.T) {
	for level, left := range map[string]int64{"minute": 79, "hour": 70} { // remaining minutes
		clock(t, fixture.Start.Add(80*time.Hour))
		before := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 100, Requests: 5}
		after := before
		after.Seed, after.Version, after.Instances, after.Start = 2, "2", []string{"c", "d"}, fixture.Start.Add(30*time.Minute)
		old, _ := before.Run()
		items, _ := after.Run()
		root := fixture.Write(t, old, items)
		if r := corehour("compact", "--warehouse", root, "--"+level+"-after", "1d"); r.code != exitNothing {
			t.Fatalf("%+v", r)
		}
		// Version 2 runs from 09:30 to 11:10.
		_, _, lines := byThresholdOf(t, root, "--warm-up", "20m30s")
		if got := lines["Serve"].HeadRecords; got != 10*left {
			t.Errorf("by %s: %d records are left, want %d", level, got, 10*left)
		}
	}
}

func TestThreshold_RejectsTimeFlags(t *testing.T) {
	for flag, want := range map[string]string{"--slot": "--slot: has no effect", "--warm-up": "--warm-up: want"} {
		if r := corehour("regress", "--warehouse", t.TempDir(), "--method", "threshold", flag, "soon"); r.code != exitFailed || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", flag, r)
		}
	}
}

// TestThreshold_MetricPerMethod: a method is compared by CPU time if both versions measured it, else
// by wall time. If only one version measured the CPU time of a callee, the caller's own CPU time would seem to
// grow, so the caller is compared by wall time, too.
func TestThreshold_MetricPerMethod(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	for _, both := range []bool{true, false} {
		t.Run(fmt.Sprintf("CPU lacks in both versions %v", both), func(t *testing.T) {
			before := fixture.Shop{
				Seed: 1, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 40, Requests: 20,
				OwnCPU: fixture.DefaultOwnCPU(),
			}
			before.OwnCPU[fixture.Log] = 150 * time.Microsecond
			after := before
			after.Seed, after.Version, after.Instances, after.Start = 2, "2", []string{"c", "d"}, fixture.Start.Add(30*time.Minute)
			after.OwnCPU = fixture.DefaultOwnCPU()
			after.OwnCPU[fixture.Rate] *= 2
			after.OwnCPU[fixture.Log] = 150 * time.Microsecond
			old, _ := before.Run()
			items, _ := after.Run()
			for _, item := range slices.Concat(old, items) {
				for i := range item.Rows {
					r := &item.Rows[i]
					if r.Kind != methodspan.KindCall || r.Method != "Write" {
						continue
					}
					if both || r.Resource.Version == "2" {
						r.CPUMeasured, r.CPUNS, r.CPUP, r.CPUState = 0, 0, 0, methodspan.CPUUnavailable
					}
					if r.Resource.Version == "2" { // waiting time: CPU time stays the same
						r.WallNS *= 3
					}
				}
			}
			// The caller waits as well.
			for _, item := range items {
				for i := range item.Rows {
					if r := &item.Rows[i]; r.Kind == methodspan.KindCall && r.Method == "Serve" {
						r.WallNS += int64(600 * time.Microsecond)
					}
				}
			}
			root := fixture.Write(t, old, items)
			metrics := func(lines map[string]evidence.Verdict) string {
				var out []string
				for name, l := range lines {
					out = append(out, name+" "+l.Metric+" "+string(l.State))
				}
				slices.Sort(out)
				return strings.Join(out, ", ")
			}
			serve := "cpu"
			if !both {
				serve = "wall"
			}
			r, f, lines := byThresholdOf(t, root)
			want := "Rate cpu regressed, Serve " + serve + " explained, Total cpu explained, Write wall regressed"
			if got := metrics(lines); got != want || r.code != exitFound || len(f.Alerts) != 2 {
				t.Fatalf("exit %d, %d alerts, %s: want %s", r.code, len(f.Alerts), got, want)
			}
			for _, a := range f.Alerts {
				want := "cpu"
				if a.Method == "Write" {
					want = "wall"
					if a.ChangePercent < 150 || a.ChangePercent > 250 {
						t.Errorf("%v%%, planted 200", a.ChangePercent)
					}
				}
				if a.Metric != want || !strings.Contains(a.Reason, want+" time") || (a.USDPerDay == nil) != (want == "wall") {
					t.Errorf("%s of %s: %s", a.Metric, a.Method, a.Reason)
				}
			}
			if r = corehour("regress", "--warehouse", root, "--method", "threshold"); !strings.Contains(r.stdout, " wall ") || !strings.Contains(r.stdout, " cpu ") {
				t.Errorf("%s", r.stdout)
			}
			_, _, forced := byThresholdOf(t, root, "--metric", "wall")
			if got, want := metrics(forced), "Rate wall regressed, Serve wall explained, Total wall explained, Write wall regressed"; got != want {
				t.Errorf("--metric wall: %s: want %s", got, want)
			}
			_, _, forced = byThresholdOf(t, root, "--metric", "cpu")
			if got := metrics(forced); strings.Contains(got, "wall") || !strings.Contains(got, "Write cpu few_records") {
				t.Errorf("--metric cpu: %s", got)
			}
		})
	}
}
