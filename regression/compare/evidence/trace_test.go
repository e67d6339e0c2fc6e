package evidence_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// decidedBy maps a state to the conditions that decide it by failing. For a state without an entry, the trace ends
// before the last condition.
var decidedBy = map[evidence.VerdictState][]string{
	evidence.New: {"records on both sides"}, evidence.Gone: {"records on both sides"}, evidence.FewRecords: {"records on both sides"},
	evidence.FewBuckets: nil,
	evidence.NotProven:  {"change", "e-value", "the last time bucket"}, evidence.Undecided: {"change", "e-value"},
	evidence.Pending:   {"consecutive evaluations"},
	evidence.Explained: {"the growth is its own"}, evidence.Moved: {"the growth is its own"},
	evidence.WithService:        nil,
	evidence.NotDistinguishable: {"the version is the cause"},
}

// traceAgrees checks that a method is regressed exactly if all conditions were tested and hold, and that otherwise the
// trace names the condition that decided.
func traceAgrees(t *testing.T, r *evidence.Result) (seen map[evidence.VerdictState]int) {
	t.Helper()
	seen = map[evidence.VerdictState]int{}
	for _, v := range r.Methods {
		seen[v.State]++
		var failed []string
		for _, p := range v.Trace.Predicates {
			if p.Holds == nil {
				t.Fatalf("%s: %s is not known to hold", v.FullName, p.Name)
			}
			if !*p.Holds {
				failed = append(failed, p.Name)
			}
		}
		last := v.Trace.Predicates[len(v.Trace.Predicates)-1].Name
		alert := last == "the growth is its own" && len(failed) == 0
		deciding := decidedBy[v.State]
		ok := alert == (v.State == evidence.Regressed)
		switch {
		case v.State == evidence.Regressed:
			ok = ok && v.Trace.Decided == "an alert: every condition holds"
		case deciding == nil:
			ok = ok && last != "the growth is its own" && strings.HasSuffix(v.Trace.Decided, v.Reason)
		case v.State == evidence.Explained || v.State == evidence.Moved: // other conditions can fail as well
			ok = ok && slices.Contains(failed, deciding[0])
		default:
			ok = ok && len(failed) > 0 && slices.Contains(deciding, failed[0])
		}
		if v.State == evidence.NotProven {
			ok = ok && strings.Contains(v.Trace.Decided, failed[0])
		}
		if !ok {
			t.Errorf("%s is %s, %q does not hold: %s", v.FullName, v.State, failed, v.Trace.Decided)
		}
	}
	return seen
}

// The trace of every state explains that state.
func TestTrace_EveryState(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	seen := map[evidence.VerdictState]int{}
	evaluate := func(d *evidence.Deployment, buckets int, over bool) {
		for state, n := range traceAgrees(t, ended(t, d, buckets, over)) {
			seen[state] += n
		}
	}
	release := func(buckets int, over bool, change func(s *shop)) {
		s := newShop()
		change(s)
		evaluate(s.deployment(5), buckets, over)
	}
	apart := newShop().deployment(5)
	apart.Overlap = evidence.Sequential
	evaluate(apart, 3, false)
	release(12, false, func(s *shop) {
		s.at("Parse").self[1] *= 1.3
		s.methods = append(s.methods,
			shopMethod{name: "Rare", self: [2]float64{10, 10}, entry: [2]float64{0.2, 0.2}},
			shopMethod{name: "New", self: [2]float64{10, 10}, entry: [2]float64{0, 100}},
			shopMethod{name: "Gone", self: [2]float64{10, 10}, entry: [2]float64{100, 0}})
	})
	release(12, false, func(s *shop) {
		s.at("Tax").self[1] -= 1500
		s.at("Parse").self[1] += 750
	})
	release(12, false, func(s *shop) {
		for i := range s.methods {
			s.methods[i].self[1] *= 1.4
		}
	})
	release(12, false, func(s *shop) { // a busy host can be the cause
		s.heads = 1
		s.at("Tax").self[1] *= 1.5
	})
	for buckets := 1; buckets < 5; buckets++ {
		for _, over := range []bool{false, true} {
			for _, processes := range []int{1, 2} {
				release(buckets, over, func(s *shop) {
					s.bases, s.heads = processes, processes
					s.at("Tax").self[1] *= 1.6
				})
			}
		}
	}
	for state := range decidedBy {
		if seen[state] == 0 {
			t.Errorf("no method is %s", state)
		}
	}
	if seen[evidence.Regressed] == 0 {
		t.Error("no method is regressed")
	}
}
