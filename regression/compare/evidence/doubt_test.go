package evidence

import (
	"math"
	"strings"
	"testing"
	"time"
)

// Each condition alone makes a significant change doubtful.
func TestDoubt_Conditions(t *testing.T) {
	type given struct {
		c compared
		x index
		o Options
	}
	for name, test := range map[string]struct {
		change func(*given)
		want   string // part of the reason
		state  VerdictState
	}{
		"none":                          {func(*given) {}, "", ""},
		"interval with 0":               {func(g *given) { g.c.verdict.Interval[0] = -0.449 }, "the interval of the mean, -44.9% to +90.0%, contains 0", NotDistinguishable},
		"typical call fell":             {func(g *given) { g.c.fits[level].change = -0.2 }, "changed by +50.0%, the typical call by -18.1%", NotDistinguishable},
		"typical call fell by chance":   {func(g *given) { g.c.fits[level].change = -0.005 }, "", ""},
		"capped mean fell":              {func(g *given) { g.c.fits[cost].change = -0.2 }, "the capped mean by -18.1%", NotDistinguishable},
		"stored mean fell":              {func(g *given) { g.c.pooled = math.Log(0.13 / 2.3) }, "all time buckets together changed by -94.3%", NotDistinguishable},
		"below a probe":                 {func(g *given) { g.x.d.Resolution = 70 }, "a change of 50 ns per call, and a probe resolves 70 ns", NotDistinguishable},
		"load":                          {func(g *given) { g.x.allCalls[Head] = 150 }, "1.5 times the calls", NotDistinguishable},
		"change above the load":         {func(g *given) { g.x.allCalls[Head], g.c.verdict.Interval[0] = 150, 0.6 }, "", ""},
		"wall time above the load":      {func(g *given) { g.x.d.Wall, g.x.allCalls[Head], g.c.verdict.Interval[0] = true, 150, 0.6 }, "1.5 times the calls", NotDistinguishable},
		"calls of the method, by wall":  {func(g *given) { g.x.d.Wall, g.c.load = true, 0.5 }, "times the calls", NotDistinguishable},
		"one head process":              {func(g *given) { g.x.processes[Head] = 1 }, "a busy host alone can cause +58.4%", NotDistinguishable},
		"one, on a host of the base":    {func(g *given) { g.x.processes[Head], g.x.d.SameHost = 1, true }, "", ""},
		"one, on that host later":       {func(g *given) { g.x.processes[Head], g.x.d.SameHost, g.x.d.Overlap = 1, true, Sequential }, "a busy host alone", NotDistinguishable},
		"one head process, far above":   {func(g *given) { g.x.processes[Head], g.c.verdict.Interval[0] = 1, 0.7 }, "", ""},
		"falls with age":                {func(g *given) { g.c.aging = aging{0.6, 0.25, 0.01, 0.01, 0.5, time.Hour, true} }, "the age of the processes: +82.2% in the first half of 1h0m0s, +28.4% in the second", NotDistinguishable},
		"falls to a level above 0":      {func(g *given) { g.c.aging = aging{0.6, 0.5, 0.001, 0.001, 0.5, time.Hour, true} }, "", ""},
		"falls slowly":                  {func(g *given) { g.c.aging = aging{0.45, 0.35, 0.01, 0.01, 0.5, time.Hour, true} }, "", ""},
		"crash loop":                    {func(g *given) { g.x.restarted[Head] = 2 }, "2 of 3 processes of the new version ended", NotDistinguishable},
		"both versions restart":         {func(g *given) { g.x.restarted = [2]int{2, 2} }, "", ""},
		"a small share":                 {func(g *given) { g.x.headCost = 1e7 }, "0.05% of the cost of the service, less than 0.1%", Small},
		"an unknown share":              {func(g *given) { g.x.headCost = 0 }, "", ""},
		"doubtful and of a small share": {func(g *given) { g.x.headCost, g.c.verdict.Interval[0] = 1e7, -0.1 }, "contains 0", NotDistinguishable},
	} {
		g := given{
			c: compared{decide: []statistic{cost, level}, tails: make([]tail, 1), pooled: 0.4, weight: [2]float64{100, 100}},
			x: index{d: &Deployment{}, processes: [2]int{3, 3}, headCost: 1e5, processBuckets: [2]float64{1, 1}, allCalls: [2]float64{100, 100}},
			o: Options{LeastShare: 0.001},
		}
		for s := range g.c.fits {
			g.c.fits[s] = fit{change: math.Log(1.5), ok: true}
			g.c.errors[s].measured = 1e-4
		}
		g.c.verdict = outcome{State: NotProven, Change: 0.5, Interval: [2]float64{0.2, 0.9}, Measured: changePart{Change: 0.5}, BaseMean: 100, HeadMean: 150}
		test.change(&g)
		g.c.doubt(&g.x, g.o)
		if got := g.c.verdict.Doubt; g.c.doubted != test.state || (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q: %s", name, g.c.doubted, got)
		}
	}
}
