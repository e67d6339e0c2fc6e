package cost

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// Report spends nearly all of its time in Work, which Small calls often and cheaply. If few calls are timed, there may
// be no call by Report among the timed calls of Work. The cost of Report is then uncertain, and its lower bound holds.
// With many timed calls, or if all are timed, the cost is certain.
func TestSelfCost_CalleesUntimed(t *testing.T) {
	const services, own, work = 60, 100 * time.Microsecond, 4 * time.Millisecond
	for _, test := range []struct {
		name      string
		reports   int
		rate      float64
		its       float64 // rate of Report
		uncertain bool
	}{
		{"2 of 200 timed", 200, 0.01, 0.01, true},
		{"6 of 600 timed", 600, 0.01, 0.01, true},
		{"60 of 6,000 timed", 6000, 0.01, 0.01, false},
		{"all of 200 timed", 200, 1, 1, false},
		{"all of 200 timed, callees 1 in 100", 200, 0.01, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, uint64(test.reports)))
			var items []methodspan.Item
			for i := range services {
				p := fixture.NewProcess("1", "a", fixture.Start)
				p.Resource.Service = fmt.Sprintf("s%d", i)
				call := func(method, caller string, at, cpu time.Duration) {
					rate := test.rate
					if method == "a.Report" {
						rate = test.its
					}
					if r.Float64() < rate {
						p.Call(method, caller, fixture.Start.Add(at), cpu, cpu, rate, 1)
					}
				}
				small := 20_000
				if test.rate == 1 { // if all are timed, fewer show the same
					small /= 10
				}
				for n := range test.reports {
					at := time.Minute * time.Duration(n) / time.Duration(test.reports)
					call("a.Report", methodspan.CallerEntry, at, own+work)
					call("a.Work", "a.Report", at, work)
				}
				for n := range small {
					at := time.Minute * time.Duration(n) / time.Duration(small)
					call("a.Small", methodspan.CallerEntry, at, 2*time.Microsecond)
					call("a.Work", "a.Small", at, time.Microsecond)
				}
				p.Counts("a.Report", fixture.Start, time.Minute, int64(test.reports))
				p.Counts("a.Small", fixture.Start, time.Minute, int64(small))
				p.Counts("a.Work", fixture.Start, time.Minute, int64(test.reports+small))
				items = append(items, p.Item())
			}
			truth := (time.Duration(test.reports) * own).Hours()
			above, lines := 0, 0
			for _, l := range computeWith(t, fixture.Write(t, items), Options{}).Methods {
				if l.Method != "Report" || l.SelfCoreHours == nil {
					continue
				}
				lines++
				if l.SelfCoreHoursLeast != nil && *l.SelfCoreHoursLeast > truth ||
					l.SelfCoreHoursInterval != nil && l.SelfCoreHoursInterval[0] > truth {
					above++
				}
				if test.uncertain && !l.Uncertain {
					t.Errorf("%s: %v core hours where %v are true, and not uncertain", l.Service.Name, *l.SelfCoreHours, truth)
				}
				if !test.uncertain && strings.Contains(l.Why, "of which none was timed") || test.rate == 1 && l.Uncertain {
					t.Errorf("%s is uncertain: %s", l.Service.Name, l.Why)
				}
			}
			if above > 1 || lines < services/2 {
				t.Errorf("%d of %d lower bounds are above the truth", above, lines)
			}
		})
	}
}
