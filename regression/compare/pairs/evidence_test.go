package pairs

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// byEvidence stores items and compares the newest versions by EvidenceRule.
func byEvidence(t *testing.T, o Options, items []methodspan.Item) *Comparison {
	t.Helper()
	w, err := query.Open(t.Context(), fixture.Write(t, items), query.Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	runs, err := w.RunsBy(t.Context(), o.Unit(), query.Window{}, query.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	pairs, skips, err := Choose(runs, "", "")
	if err != nil || len(pairs) != 1 {
		t.Fatal(pairs, skips, err)
	}
	c, _, err := EvidenceRule{}.Compare(t.Context(), w, query.Filter{}, pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	return c[0]
}

// A process without CPU times is not compared, and a warning names it.
func TestCompare_ProcessWithoutCPUWarns(t *testing.T) {
	base, head, blind := before(1), before(2), before(3)
	head.Version, blind.Version = "2", "2"
	head.Instances, blind.Instances = []string{"d", "e"}, []string{"f"}
	head.Start, blind.Start = head.Start.Add(5*time.Minute), blind.Start.Add(5*time.Minute)
	blind.CPURate = 1e-12
	var items []methodspan.Item
	for _, shop := range []fixture.Shop{base, head, blind} {
		more, _ := shop.Run()
		items = append(items, more...)
	}
	c := byEvidence(t, Options{Bucket: time.Minute}, items)
	if !strings.Contains(c.Clusters, "3 and 2 processes") || len(c.Warnings) == 0 ||
		!strings.Contains(c.Warnings[0], "1 of 3 processes of version 2 measured no cpu time and is not compared") {
		t.Errorf("%s: %q", c.Clusters, c.Warnings)
	}
	if !c.Conclusive() {
		t.Error("the others are compared all the same")
	}
	if c := byEvidence(t, Options{Bucket: time.Minute, Metric: "wall"}, items); !strings.Contains(c.Clusters, "3 and 3 processes") || len(c.Warnings) > 0 {
		t.Errorf("by wall time: %s: %q", c.Clusters, c.Warnings)
	}
}

// A version that returns within a minute is a new deployment if buckets are as short.
func TestCompare_VersionReturnsWithinMinute(t *testing.T) {
	var items []methodspan.Item
	for _, run := range []struct {
		version  string
		from, to int // seconds
	}{{"1", 0, 20}, {"2", 10, 40}, {"1", 38, 60}} {
		begin := fixture.Start.Add(time.Duration(run.from) * time.Second)
		p := fixture.NewProcess(run.version, "a", begin)
		for second := run.from; second < run.to; second++ {
			p.Call(fixture.Rate, methodspan.CallerEntry, fixture.Start.Add(time.Duration(second)*time.Second), time.Millisecond, time.Millisecond, 1, 1)
		}
		items = append(items, p.Item())
	}
	if c := byEvidence(t, Options{Bucket: time.Second}, items); c.BaseVersion != "2" || c.HeadVersion != "1" {
		t.Errorf("by seconds %s is compared with %s", c.HeadVersion, c.BaseVersion)
	}
	if c := byEvidence(t, Options{}, items); c.BaseVersion != "1" || c.HeadVersion != "2" {
		t.Errorf("by minutes %s is compared with %s", c.HeadVersion, c.BaseVersion)
	}
}

// Calls that were measured but not compared are distinguished from calls that were not measured.
func TestCompare_NothingComparedReason(t *testing.T) {
	var items []methodspan.Item
	for side := range 2 {
		s := fixture.Shop{
			Seed: uint64(1 + side), Version: string(rune('1' + side)), Start: fixture.Start.Add(time.Duration(side) * time.Second), Minutes: 20, Requests: 12,
			Instances: []string{"a"},
		}
		more, _ := s.Run()
		items = append(items, more...)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Bucket: 2 * time.Hour}, "nothing that version 1 measured is compared: the versions ran together for less than 3 time buckets of 2h0m0s"},
		{Options{Bucket: time.Minute, WarmUp: 17 * time.Minute}, "measured calls have no part in this: they began while their process was warming up"},
	} {
		got := byEvidence(t, c.o, items)
		if got.Conclusive() || !strings.Contains(strings.Join(got.Warnings, "\n"), c.want) {
			t.Errorf("%+v: %q", c.o, got.Warnings)
		}
		for _, l := range got.Methods {
			if asked := l.Trace.Predicates; l.State != evidence.FewRecords || l.NotCompared == 0 || len(asked) != 1 || *asked[0].Holds || asked[0].Found != "0 and 0" {
				t.Errorf("%+v: %s is %s with %d records left out: %+v", c.o, l.FullName, l.State, l.NotCompared, asked)
			}
		}
	}
}

// A rollout can end before a second evaluation confirms what the last one raised. The last evaluation then decides, as
// soon as no more rows can arrive.
func TestCompare_LastEvaluationAfterRollout(t *testing.T) {
	var items, idlers []methodspan.Item
	for side := range 2 {
		s := fixture.Shop{
			Seed: uint64(1 + side), Version: string(rune('1' + side)), Start: fixture.Start.Add(time.Duration(side) * time.Second), Minutes: 5, Requests: 12,
			Instances: []string{"a"}, OwnCPU: fixture.DefaultOwnCPU(),
		}
		if side == 1 {
			s.OwnCPU[fixture.Rate] *= 3
		}
		more, _ := s.Run()
		items = append(items, more...)
		idle := fixture.NewProcess(s.Version, "idle", s.Start)
		idle.Beat(s.Start.Add(5*time.Minute), time.Minute, 0, false)
		idlers = append(idlers, idle.Item())
	}
	end := fixture.Start.Add(5 * time.Minute)
	for _, c := range []struct {
		asOf   time.Time
		idling bool // processes go on running without being called
		want   evidence.VerdictState
	}{
		{time.Time{}, false, evidence.Pending}, {end, false, evidence.Pending}, {end.Add(time.Minute), false, evidence.Pending}, {end.Add(2 * time.Minute), false, evidence.Regressed},
		{time.Time{}, true, evidence.Pending}, {end.Add(time.Minute), true, evidence.Pending}, {end.Add(2 * time.Minute), true, evidence.Regressed},
	} {
		stored := items
		if c.idling {
			stored = slices.Concat(items, idlers)
		}
		got := byEvidence(t, Options{Bucket: time.Minute, WarmUp: time.Minute, AsOf: c.asOf}, stored)
		for _, l := range got.Methods {
			if l.FullName == fixture.Rate && (l.State != c.want || l.LastEvaluation != (c.want == evidence.Regressed)) {
				t.Errorf("as of %s: %s, %t: %s", c.asOf, l.State, l.LastEvaluation, l.Reason)
			}
		}
		if told := alerted(got); len(told) > 0 != (c.want == evidence.Regressed) {
			t.Errorf("as of %s: alerts %q", c.asOf, told)
		}
	}
}
