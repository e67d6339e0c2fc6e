package pairs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/fixture"
)

// leaking returns processes whose calls get 1% more expensive each minute of their first hour.
func leaking(version string, start time.Time, minutes, processes int, factor float64, rng *rand.Rand) (items []methodspan.Item) {
	for i := range processes {
		begin := start.Add(time.Duration(i) * 40 * time.Second)
		p := fixture.NewProcess(version, fmt.Sprint(version, "-", i), begin)
		for minute := range minutes {
			at := begin.Add(time.Duration(minute) * time.Minute)
			cost := 100e3 * factor * (1 + 0.01*float64(min(minute, 60)))
			for call := range 20 {
				for m, name := range []string{fixture.Rate, fixture.Log, fixture.Total} {
					spent := time.Duration(cost * (0.7 + 0.6*rng.Float64()))
					if m > 0 {
						spent = time.Duration(float64(spent) / factor)
					}
					p.Call(name, methodspan.CallerEntry, at.Add(time.Duration(call)*3*time.Second), 2*spent, spent, 1, 1)
				}
			}
			for _, name := range []string{fixture.Rate, fixture.Log, fixture.Total} {
				p.Counts(name, at, time.Minute, 20)
			}
		}
		items = append(items, p.Item())
	}
	return items
}

// Processes that never settle are compared with processes of the same age. The higher age of the old version's
// processes, and the shorter time of the new version's, do not count as changes.
func TestCompare_LeaksByAge(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	const minutes = 90
	for name, gap := range map[string]time.Duration{"at the same time": 45 * time.Minute, "one after the other": 2 * time.Hour} {
		for factor, want := range map[float64]evidence.VerdictState{1: evidence.NotProven, 1.6: evidence.Regressed} {
			rng := rand.New(rand.NewPCG(1, uint64(10*factor)))
			items := append(leaking("1", fixture.Start, minutes, 3, 1, rng), leaking("2", fixture.Start.Add(gap), minutes, 3, factor, rng)...)
			got := byEvidence(t, Options{WarmUp: -1}, items)
			if !strings.Contains(got.Clusters, "3 and 3 processes") || !strings.Contains(strings.Join(append(got.Warnings, got.Clusters), "\n"), "same age") {
				t.Errorf("%s: %s: %q", name, got.Clusters, got.Warnings)
			}
			for _, l := range got.Methods {
				expect := evidence.NotProven
				if l.FullName == fixture.Rate {
					expect = want
				}
				if l.State != expect {
					t.Errorf("%s, x%v: %s is %s: %s", name, factor, l.FullName, l.State, l.Reason)
				}
			}
			if len(got.Alerts) > 0 != (want == evidence.Regressed) {
				t.Errorf("%s, x%v: alerts %q", name, factor, alerted(got))
			}
		}
	}
}
