package cost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// town writes random services: well or badly measured, with known or unknown callers, with or without prices, some
// without process rows.
func town(t *testing.T, rng *rand.Rand) string {
	t.Helper()
	var commits [][]methodspan.Item
	for i := range 2 + rng.IntN(3) {
		rate := func() float64 { return []float64{1, 0.3, 0.05, 0.002}[rng.IntN(4)] }
		shop := fixture.Shop{
			Seed: rng.Uint64(), Version: fmt.Sprint(1 + i%2), Instances: []string{"a", "b"}[:1+rng.IntN(2)],
			Start: fixture.Start.Add(time.Duration(rng.IntN(90)) * time.Minute), Minutes: 5 + rng.IntN(25), Requests: 3 + rng.IntN(20),
			Rate:    map[string]float64{fixture.Total: rate(), fixture.Rate: rate(), fixture.Log: rate()},
			CPURate: []float64{1, 0.5, 0.1}[rng.IntN(3)], CallerLookups: []float64{1, 0.5, 0.01}[rng.IntN(3)], Unpriced: rng.IntN(4) == 0,
		}
		items, _ := shop.Run()
		service, silent, coreless := fmt.Sprintf("service-%d", rng.IntN(3)), rng.IntN(5) == 0, rng.IntN(5) == 0
		for j := range items {
			var kept []methodspan.Row
			for _, r := range items[j].Rows {
				if r.Kind == methodspan.KindProcess && silent {
					continue
				}
				if r.Kind == methodspan.KindProcess && coreless {
					r.Process = &methodspan.ProcessStats{CallsTotal: r.Process.CallsTotal}
				}
				r.Resource.Service = service
				kept = append(kept, r)
			}
			items[j] = fixture.Items(fmt.Sprintf("%d-%d", i, j), kept...)[0]
		}
		commits = append(commits, items)
	}
	return fixture.Write(t, commits...)
}

// By any dimension and however badly services are measured, the lines add up to the self costs of their services. The
// self costs, unattributed cost and idle cost add up to the paid cost.
func TestCost_LinesAddUpToBill(t *testing.T) {
	fixture.SkipRaced(t)
	owners := owners(t, `{"version": 1, "owners": [{"class": "shop/tax", "owner": "tax"}, {"class": "shop/cart", "owner": "cart"}]}`)
	seen := map[string]int{}
	for seed := range uint64(12) {
		root := town(t, rand.New(rand.NewPCG(seed, 5)))
		other := []Dimension{ByClass, ByService, ByVersion, ByEnvironment, ByOwner}[seed%5]
		for _, d := range []Dimension{ByMethod, other} {
			r := computeWith(t, root, Options{By: []Dimension{d}, Owners: owners})
			var hours, usd, attributed, attributedUSD, size float64
			for _, l := range r.Lines() {
				if l.SelfCoreHours != nil {
					hours += *l.SelfCoreHours
				}
				if l.SelfUSD != nil {
					usd += *l.SelfUSD
				}
			}
			for i := range r.Services {
				s := &r.Services[i]
				attributed, attributedUSD = attributed+s.AttributedCoreHours, attributedUSD+s.AttributedUSD
				size += math.Abs(s.AttributedCoreHours)
				service(t, s, seen)
			}
			what := fmt.Sprintf("seed %d by %s", seed, d)
			if math.Abs(hours-attributed) > 1e-9*size || math.Abs(usd-attributedUSD) > 1e-9*size {
				t.Errorf("%s: lines add up to %v core hours and %v dollars, services to %v and %v", what, hours, usd, attributed, attributedUSD)
			}
		}
	}
	for _, what := range []string{"paid", "paid dollars", "no process rows", "no cores", "unpriced", "unmeasured calls", "double counts"} {
		if seen[what] == 0 {
			t.Errorf("no service had %s: the test shows nothing of it", what)
		}
	}
}

// service compares the lines of one service with its paid cost.
func service(t *testing.T, s *Service, seen map[string]int) {
	t.Helper()
	owned, ownedUSD := 0.0, 0.0
	for _, o := range s.Owned {
		owned, ownedUSD = owned+o.CoreHours, ownedUSD+o.USD
	}
	near(t, s.Service.String()+": of owners", &owned, s.AttributedCoreHours, 1e-9)
	near(t, s.Service.String()+": dollars of owners", &ownedUSD, s.AttributedUSD, 1e-9)
	if s.UnpricedCoreHours > 0 {
		seen["unpriced"]++
	}
	if s.UnmeasuredCalls > 0 {
		seen["unmeasured calls"]++
	}
	if s.DoubleCoreHours < 0 {
		seen["double counts"]++
	}
	if s.ProcessCoreHours == nil {
		seen["no process rows"]++
		if s.UnattributedCoreHours != nil || s.PaidCoreHours != nil || s.IdleCoreHours != nil || s.PaidUSD != nil {
			t.Errorf("a bill without process rows: %+v", s)
		}
		return
	}
	process := s.AttributedCoreHours + s.DoubleCoreHours + *s.UnattributedCoreHours
	near(t, s.Service.String()+": process CPU", s.ProcessCoreHours, process, 1e-9)
	if s.PaidCoreHours == nil {
		seen["no cores"]++
		if s.IdleCoreHours != nil || s.PaidUSD != nil {
			t.Errorf("idle cores of an unknown number: %+v", s)
		}
		return
	}
	seen["paid"]++
	near(t, s.Service.String()+": paid", s.PaidCoreHours, process+*s.IdleCoreHours, 1e-9)
	if s.PaidUSD != nil {
		seen["paid dollars"]++
		near(t, s.Service.String()+": paid dollars", s.PaidUSD, s.AttributedUSD+s.DoubleUSD+*s.UnattributedUSD+*s.IdleUSD, 1e-9)
	}
}

// Methods cannot contain more than their processes used, even if an unknown cost of the probes below them makes it
// seem so.
func TestInclusive_AtMostProcessCPU(t *testing.T) {
	const calls, each, used = 200, 10 * time.Millisecond, time.Second
	p := fixture.NewProcess("1", "a", fixture.Start)
	for n := range calls {
		at := fixture.Start.Add(time.Hour * time.Duration(n) / calls)
		p.Call("a.Outer", methodspan.CallerEntry, at, each, each, 1, 1)
		p.Call("a.Inner", "a.Outer", at, each/2, each/2, 1, 1)
	}
	p.Counts("a.Outer", fixture.Start, time.Hour, calls)
	p.Counts("a.Inner", fixture.Start, time.Hour, calls)
	p.Beat(fixture.Start, time.Hour, used, true)
	root := fixture.Write(t, []methodspan.Item{p.Item()})
	_, methods := compute(t, root)
	outer, inner := methods["a.Outer"], methods["a.Inner"]
	near(t, "inclusive", outer.InclusiveCoreHours, used.Hours(), 1e-9)
	near(t, "inclusive dollars", outer.InclusiveUSD, 0.05*used.Hours(), 1e-9)
	near(t, "time per call", outer.CPUNSPerCall, float64(used/calls), 1e-9)
	near(t, "inclusive of the callee", inner.InclusiveCoreHours, (calls * each / 2).Hours(), 1e-9)
	for _, l := range computeWith(t, root, Options{By: []Dimension{ByClass}}).Groups {
		near(t, "inclusive of the class", l.InclusiveCoreHours, used.Hours(), 1e-9)
	}
	for _, l := range computeWith(t, root, Options{By: []Dimension{ByMethod, ByCaller}}).Lines() {
		if l.Caller == methodspan.CallerEntry {
			near(t, "inclusive by caller", l.InclusiveCoreHours, used.Hours(), 1e-9)
			near(t, "dollars by caller", l.InclusiveUSD, 0.05*used.Hours(), 1e-9)
		} else {
			near(t, "inclusive of the callee by caller", l.InclusiveCoreHours, (calls * each / 2).Hours(), 1e-9)
		}
	}
}
