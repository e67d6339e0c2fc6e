package pairs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/fixture"
)

// Jobs run for seconds. They never settle, and are compared run by run.
func TestCompare_ShortJobsByRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		factor time.Duration
		want   evidence.VerdictState
	}{{"as before", 1, evidence.NotProven}, {"three times", 3, evidence.Regressed}} {
		var items []methodspan.Item
		for run := range 80 {
			begin := fixture.Start.Add(time.Duration(run) * 30 * time.Second)
			version, cost := "1", 100*time.Microsecond
			if run%2 == 1 {
				version, cost = "2", 100*time.Microsecond*c.factor
			}
			p := fixture.NewProcess(version, fmt.Sprint("job-", run), begin)
			for call := range 40 {
				spent := cost + time.Duration(37*((call*7+run*3)%11))*time.Microsecond/10
				p.Call(fixture.Rate, methodspan.CallerEntry, begin.Add(time.Duration(call)*100*time.Millisecond), 2*spent, spent, 1, 1)
			}
			p.Counts(fixture.Rate, begin, 4*time.Second, 40)
			items = append(items, p.Item())
		}
		got := byEvidence(t, Options{WarmUp: -1}, items)
		if !strings.Contains(got.Clusters, "40 and 39 runs of processes that live for few time buckets") {
			t.Errorf("%s: %s", c.name, got.Clusters)
		}
		for _, l := range got.Methods {
			if l.FullName == fixture.Rate && l.State != c.want {
				t.Errorf("%s: %s: %s", c.name, l.State, l.Reason)
			}
		}
	}
}
