package pairs

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/query"
)

// run returns a run of a version, in minutes since a start. process = -1 is unknown.
func run(version string, first, last, process int) query.Run {
	at := func(m int) time.Time {
		return time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC).Add(time.Duration(m) * time.Minute)
	}
	r := query.Run{Service: query.Service{Name: "shop"}, Version: version, First: at(first), Last: at(last), Until: at(last)}
	if process != -1 {
		r.OldestProcess = at(process)
	} else {
		r.UnknownProcesses = true
	}
	return r
}

// startedLater returns r with its process started the given number of seconds later.
func startedLater(r query.Run, seconds int) query.Run {
	r.OldestProcess = r.OldestProcess.Add(time.Duration(seconds) * time.Second)
	r.First = r.OldestProcess
	return r
}

// delayed returns r with its first row the given number of seconds later.
func delayed(r query.Run, seconds int) query.Run {
	r.First = r.First.Add(time.Duration(seconds) * time.Second)
	return r
}

// assumed returns r with 10 measured calls; n have no known sampling probability.
func assumed(r query.Run, n int64) query.Run {
	r.Measured, r.Assumed = 10, n
	return r
}

func TestCompareVersions(t *testing.T) {
	sorted := []string{"", "0.9", "1", "1.2.3-rc9", "1.2.3-rc10", "1.2.3", "1.9", "1.09.1", "1.10", "1.10.1", "2024.9", "18446744073709551616", "18446744073709551617", "a1", "a02", "v1.9", "v1.10"}
	for i, a := range sorted {
		for j, b := range sorted {
			if got := compareVersions(a, b); got != cmp.Compare(i, j) {
				t.Errorf("%q against %q: %d", a, b, got)
			}
		}
	}
	// Equal numbers with different spelling also have an order.
	if compareVersions("1.1", "1.01")*compareVersions("1.01", "1.1") != -1 {
		t.Error("1.1 and 1.01 have no order")
	}
}

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		name       string
		runs       []query.Run
		base, head string // requested versions
		want       string // "base<head", or part of the reason for no pair
	}{
		{"one after the other", []query.Run{run("1", 0, 60, 0), run("2", 60, 90, 60)}, "", "", "1<2"},
		{"time, not spelling", []query.Run{run("9", 0, 60, 0), run("10", 60, 90, 60)}, "", "", "9<10"},
		{"time, not spelling, downwards", []query.Run{run("2.0", 0, 60, 0), run("1.9", 60, 90, 60)}, "", "", "2.0<1.9"},
		{"a canary alongside", []query.Run{run("1", 0, 120, 0), run("2", 60, 90, 60)}, "", "", "1<2"},
		{"three versions", []query.Run{run("a", 0, 30, 0), run("b", 30, 60, 30), run("c", 60, 90, 60)}, "", "", "b<c"},
		{"last seen, not last begun", []query.Run{run("old", 0, 60, 0), run("failed", 10, 20, 10), run("new", 60, 90, 60)}, "", "", "old<new"},
		{"a version returns", []query.Run{run("1", 0, 60, 0), run("2", 60, 90, 60), run("1", 95, 120, 95)}, "", "", "2<1"},
		{"a returned version is replaced", []query.Run{run("1", 0, 60, 0), run("2", 60, 90, 60), run("1", 95, 120, 95), run("2", 130, 150, 130)}, "", "", "1<2"},
		{"old processes live on", []query.Run{run("1", 0, 60, 0), run("2", 50, 90, 50), run("1", 70, 120, 0)}, "", "", "1<2"},
		{"a hole in which nothing was seen", []query.Run{run("1", 0, 30, 0), run("2", 30, 60, 30), run("2", 80, 99, 80)}, "", "", "1<2"},
		{"unknown processes, short hole", []query.Run{run("1", 0, 30, -1), run("2", 20, 60, -1), run("1", 40, 99, -1)}, "", "", "1<2"},
		{"unknown processes, long hole", []query.Run{run("1", 0, 30, -1), run("2", 20, 90, -1), run("1", 85, 99, -1)}, "", "", "2<1"},
		{"the window cuts both", []query.Run{run("2", 100, 190, 40), run("1", 101, 190, 10)}, "", "", "1<2"},
		{"one instant", []query.Run{run("1.10", 0, 60, 0), run("1.9", 0, 60, 0)}, "", "", "1.9<1.10 by version order"},
		{"one minute, processes started within it", []query.Run{startedLater(run("1.9", 0, 60, 0), 40), startedLater(run("1.10", 0, 60, 0), 20)}, "", "", "1.10<1.9 by process start"},
		{"one minute, unknown processes", []query.Run{delayed(run("1.9", 30, 60, -1), 40), run("1.10", 30, 60, -1), run("1.8", 0, 60, -1)}, "", "1.9", "1.8<1.9 by first row"},
		{"one minute, unknown processes, the newest", []query.Run{delayed(run("1.9", 30, 60, -1), 40), run("1.10", 30, 60, -1), run("1.8", 0, 60, -1)}, "", "", "1.9<1.10 by version order"},
		{"one minute, unknown processes, the later", []query.Run{delayed(run("1.9", 30, 60, -1), 40), run("1.10", 30, 60, -1), run("1.8", 0, 29, -1)}, "", "", "1.10<1.9 by first row"},
		{"both run when the warehouse begins", []query.Run{run("1.10", 0, 60, -20), run("1.9", 1, 60, -4000)}, "", "", "1.9<1.10 by process start"},
		{"both run when the warehouse begins, unknown processes", []query.Run{run("1.10", 0, 60, -1), run("1.9", 2, 60, -1)}, "", "", "1.9<1.10 by version order"},
		{"one of them is over by then", []query.Run{run("b", 0, 1, -1), run("a", 1, 60, -1)}, "", "", "b<a by first row"},
		{"began later, unknown processes", []query.Run{run("b", 0, 60, -1), run("a", 5, 60, -1)}, "", "", "b<a by first row"},
		{"the oldest asked for", []query.Run{run("1", 0, 60, 0), run("2", 30, 60, 30)}, "", "1", `no version was seen before "1": name --base`},
		{"both asked for", []query.Run{run("1", 0, 60, 0), run("2", 30, 60, 30)}, "2", "1", "2<1 by asked for"},
		{"named", []query.Run{run("a", 0, 30, 0), run("b", 30, 60, 30), run("c", 60, 90, 60)}, "a", "b", "a<b"},
		{"head named", []query.Run{run("a", 0, 30, 0), run("b", 30, 60, 30), run("c", 60, 90, 60)}, "", "b", "a<b"},
		{"base named", []query.Run{run("a", 0, 30, 0), run("b", 30, 60, 30), run("c", 60, 90, 60)}, "a", "", "a<c"},
		{"base named after head", []query.Run{run("a", 0, 30, 0), run("b", 30, 60, 30)}, "b", "a", "b<a"},
		{"only one", []query.Run{run("1", 0, 60, 0)}, "", "", `only version "1"`},
		{"none known", []query.Run{run("", 0, 60, 0)}, "", "", "service.version"},
		{"sampling known of the head only", []query.Run{assumed(run("1", 0, 30, 0), 10), assumed(run("2", 30, 60, 30), 0)}, "", "", `how spans were sampled is known of version "2" and not of "1"`},
		{"sampling known of the base only", []query.Run{assumed(run("1", 0, 30, 0), 0), assumed(run("2", 30, 60, 30), 6)}, "", "", `how spans were sampled is known of version "1" and not of "2"`},
		{"sampling mostly known of both", []query.Run{assumed(run("1", 0, 30, 0), 0), assumed(run("2", 30, 60, 30), 5)}, "", "", "1<2"},
		{"sampling unknown of both", []query.Run{assumed(run("1", 0, 30, 0), 10), assumed(run("2", 30, 60, 30), 10)}, "", "", "1<2"},
		{"unknown is not compared", []query.Run{run("", 0, 60, 0), run("1", 60, 90, 60)}, "", "", `only version "1"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pairs, skips, err := Choose(tc.runs, tc.base, tc.head)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range pairs {
				got += p.Base.Version + "<" + p.Head.Version + " by " + string(p.ChosenBy)
			}
			for _, s := range skips {
				got += s.Reason
			}
			if !strings.Contains(got, tc.want) || len(pairs)+len(skips) != 1 {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestDeployments_ReturnedVersion(t *testing.T) {
	d := Deployments([]query.Run{run("1", 0, 60, 0), run("2", 60, 90, 60), run("1", 95, 120, 95), run("1", 125, 130, 96)})
	if len(d) != 3 || d[2].Version != "1" || d[2].First.Minute() != 35 || d[2].Until.Sub(d[2].First) != 35*time.Minute {
		t.Errorf("%+v", d)
	}
	if d[0].Alone || !d[1].Alone || d[2].Alone {
		t.Errorf("%+v: want the second to be the only one of its version", d)
	}
}

func TestChoose_UnknownVersion(t *testing.T) {
	runs := []query.Run{run("1.4.2", 0, 60, 0), run("1.4.3", 60, 90, 60)}
	for _, tc := range []struct{ base, head, want string }{
		{"", "1.4.33", `--head: version not seen in the time looked at: "1.4.33" (did you mean "1.4.3"?)`},
		{"none", "", `--base: version not seen in the time looked at: "none" (known are "1.4.2", "1.4.3")`},
		{"1.4.2", "1.4.2", "twice"},
	} {
		_, _, err := Choose(runs, tc.base, tc.head)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}
