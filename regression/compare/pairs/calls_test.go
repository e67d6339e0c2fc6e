package pairs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// compareHour stores the rows of two versions that run at the same time for an hour, and compares them.
func compareHour(t *testing.T, head func(*fixture.Shop)) *Comparison {
	t.Helper()
	var items []methodspan.Item
	for side := range 2 {
		s := fixture.Shop{
			Seed: uint64(1 + side), Version: fmt.Sprint(1 + side), Start: fixture.Start.Add(time.Duration(side) * time.Second), Minutes: 60, Requests: 60,
			Rate: map[string]float64{fixture.Serve: 1, fixture.Total: 0.3, fixture.Rate: 0.1, fixture.Log: 0.3}, CPURate: 0.6,
		}
		for i := range 4 {
			s.Instances = append(s.Instances, fmt.Sprint("v", 1+side, "-", i))
		}
		if side == 1 {
			head(&s)
		}
		more, _ := s.Run()
		items = append(items, more...)
	}
	return byEvidence(t, Options{WarmUp: 20 * time.Minute}, items)
}

// alerted returns the alerts as "kind method".
func alerted(c *Comparison) []string {
	out := []string{}
	for _, a := range c.Alerts {
		out = append(out, a.Kind+" "+a.Method)
	}
	return out
}

// Some processes measure no CPU time for a while. Methods with many records are weighted per minute, so other processes
// stand for these only in that minute; methods with few records are weighted per hour, so the whole hour does. The
// difference is not a change of calls per call.
func TestMoreCalls_LostCPUTimes(t *testing.T) {
	c := compareHour(t, func(s *fixture.Shop) {
		s.CPUFrom = map[string]int{}
		for _, instance := range s.Instances[1:] {
			s.CPUFrom[instance] = 20
		}
	})
	if got := alerted(c); len(got) > 0 {
		t.Errorf("alerts %q: %s", got, c.Alerts[0].Reason)
	}
}

// repeating stores two versions that run at the same time, and compares them. The second calls a method three times as
// often from each of its callers.
func repeating(t *testing.T, callee string, callers ...string) *Comparison {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var items []methodspan.Item
	for i := range 6 {
		times := 1 + 2*(i%2)
		begin := fixture.Start.Add(time.Duration(i) * time.Second)
		p := fixture.NewProcess(fmt.Sprint(1+i%2), fmt.Sprint(i), begin)
		for minute := range 20 {
			start := begin.Add(time.Duration(minute) * time.Minute)
			for _, caller := range callers {
				calls := 8 + rng.IntN(5)
				for c := range calls {
					at := start.Add(time.Duration(10+c) * time.Second)
					p.Call(caller, methodspan.CallerEntry, at, time.Millisecond, time.Duration(9e5+2e5*rng.Float64()), 1, 1)
					for range times {
						p.Call(callee, methodspan.ParseFunction(caller).Full(), at, 100*time.Microsecond, time.Duration(9e4+2e4*rng.Float64()), 1, 1)
					}
				}
				p.Counts(caller, start, time.Minute, int64(calls))
				p.Counts(callee, start, time.Minute, int64(calls*times))
			}
		}
		items = append(items, p.Item())
	}
	return byEvidence(t, Options{Bucket: time.Minute}, items)
}

// Two callers of one method are two alerts.
func TestMoreCalls_TwoCallersTwoAlerts(t *testing.T) {
	c := repeating(t, "shop/db.Get", "shop/cart.(*Cart).Total", "shop.List")
	callers := map[string]bool{}
	ids := map[string]bool{}
	for _, a := range c.Alerts {
		callers[a.Caller], ids[a.ID] = true, true
	}
	if len(c.Alerts) != 2 || len(ids) != 2 || !callers["shop/cart.Cart.Total"] || !callers["shop.List"] {
		t.Errorf("alerts %q of ids %v by %v", alerted(c), ids, callers)
	}
}

// Names of methods can contain any text, as spans of other SDKs do. An arrow in the name must hide neither caller nor
// method.
func TestMoreCalls_ArrowInName(t *testing.T) {
	c := repeating(t, "queue -> worker", "shop.poll")
	if got := alerted(c); !slices.Equal(got, []string{"more_calls queue -> worker"}) {
		t.Fatalf("alerts %q", got)
	}
	if a := c.Alerts[0]; a.Name() != "queue -> worker" || !strings.HasPrefix(a.Reason, "shop.poll -> queue -> worker: ") {
		t.Errorf("%q: %s", a.Name(), a.Reason)
	}
}

// The same loss of CPU times must not hide a query in a loop.
func TestMoreCalls_FoundDespiteLostCPUTimes(t *testing.T) {
	c := compareHour(t, func(s *fixture.Shop) {
		s.Calls = map[string]int{fixture.Log: 3}
		s.CPUFrom = map[string]int{s.Instances[1]: 30, s.Instances[2]: 60}
	})
	if got := alerted(c); !slices.Equal(got, []string{"more_calls Write"}) {
		t.Fatalf("alerts %q", got)
	}
	if a := c.Alerts[0]; math.Abs(a.ChangePercent-200) > 10 || math.Abs(a.Base-1) > 0.05 || math.Abs(a.Head-3) > 0.15 {
		t.Errorf("%+v", a)
	}
}
