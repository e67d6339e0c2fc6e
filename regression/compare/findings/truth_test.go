package findings_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/findings"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/deploygen"
	"github.com/corehour/corehour/test/deploygen/rows"
	"github.com/corehour/corehour/test/fixture"
)

// treeMethod is a method of a service. Each call of its caller calls it once.
type treeMethod struct {
	name   string
	caller int           // index, -1 = calls from outside
	own    time.Duration // mean own cost of a call in the base version
	factor float64       // cost factor of the head version, 0 = 1
	cpu    bool          // CPU is timed although the service is wall-only
}

// callTree is a service whose processes run two versions. Its rows are computed here, independently of package
// deploygen. Costs of calls are lognormal, with a standard deviation of 0.7 of their logarithm.
type callTree struct {
	steps      []treeMethod
	base, head int // processes
	hosts      float64
	requests   int // per minute and process, all measured
	wallOnly   bool
	tie        bool
}

const (
	treeMinutes = 30
	oneCallSD   = 0.7
	oneMethodSD = 0.015 // standard deviation of the log cost per process and method
)

// trueChange contains changes in percent: own and inclusive are the changes between the versions, measuredOwn and
// measuredInclusive the changes between the processes that were drawn.
type trueChange struct{ own, inclusive, measuredOwn, measuredInclusive float64 }

func inPercent(ratio float64) float64 { return 100 * (ratio - 1) }

// write stores the service in a new warehouse and returns its root and the true change of each method.
func (s *callTree) write(t *testing.T, seed uint64) (root string, truths map[string]trueChange) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 20))
	n := len(s.steps)
	var nominal, expected [2][]float64
	for v := range 2 {
		nominal[v], expected[v] = make([]float64, n), make([]float64, n)
		for m, x := range s.steps {
			nominal[v][m] = float64(x.own)
			if v == 1 && x.factor > 0 {
				nominal[v][m] *= x.factor
			}
		}
	}
	var commits [][]methodspan.Item
	for i := range s.base + s.head {
		v, processes, version := 0, s.base, deploygen.BaseVersion
		start := fixture.Start.Add(-3 * time.Hour)
		if i >= s.base {
			v, processes, version = 1, s.head, deploygen.HeadVersion
		}
		if v == 1 || s.tie {
			start = fixture.Start
		}
		level := make([]float64, n)
		slow := s.hosts * rng.NormFloat64()
		for m := range level {
			level[m] = nominal[v][m] * math.Exp(slow+oneMethodSD*rng.NormFloat64())
			expected[v][m] += level[m] / float64(processes)
		}
		p := fixture.NewProcess(version, fmt.Sprint("process-", i), start)
		p.Resource.Host = fmt.Sprint("host-", i)
		commits = append(commits, s.run(p, rng, level))
	}
	truths = map[string]trueChange{}
	inclusive := func(own []float64) []float64 {
		all := slices.Clone(own)
		for m := n - 1; m > 0; m-- {
			all[s.steps[m].caller] += all[m]
		}
		return all
	}
	with, measured := [2][]float64{inclusive(nominal[0]), inclusive(nominal[1])}, [2][]float64{inclusive(expected[0]), inclusive(expected[1])}
	for m, x := range s.steps {
		truths[methodspan.ParseFunction(x.name).Full()] = trueChange{
			inPercent(nominal[1][m] / nominal[0][m]), inPercent(with[1][m] / with[0][m]),
			inPercent(expected[1][m] / expected[0][m]), inPercent(measured[1][m] / measured[0][m]),
		}
	}
	return fixture.Write(t, commits...), truths
}

// run returns the items that a process sends. In s.steps, callers come before their callees.
func (s *callTree) run(p *fixture.Process, rng *rand.Rand, level []float64) (items []methodspan.Item) {
	n := len(s.steps)
	costs := make([]float64, n)
	for minute := range treeMinutes {
		from := fixture.Start.Add(time.Duration(minute) * time.Minute)
		busy := 0.0
		for m, x := range s.steps {
			if !s.wallOnly || x.cpu {
				p.Counts(x.name, from, time.Minute, int64(s.requests))
			}
			costs[m] = 0
		}
		for range s.requests {
			for m := range costs {
				costs[m] = level[m] * math.Exp(oneCallSD*rng.NormFloat64()-oneCallSD*oneCallSD/2)
				busy += costs[m]
			}
			for m := n - 1; m > 0; m-- {
				costs[s.steps[m].caller] += costs[m]
			}
			at := from.Add(time.Duration(rng.Int64N(int64(59 * time.Second))))
			for m, x := range s.steps {
				caller := methodspan.CallerEntry
				if x.caller >= 0 {
					caller = methodspan.ParseFunction(s.steps[x.caller].name).Full()
				}
				cost := time.Duration(costs[m])
				switch {
				case !s.wallOnly:
					p.Call(x.name, caller, at, cost+time.Duration(0.2*rng.ExpFloat64()*costs[m]), cost, 1, 1)
				case x.cpu:
					p.Call(x.name, caller, at, cost, cost*4/5, 1, 1)
				default: // a span of stock instrumentation
					r := p.Call(x.name, caller, at, cost, -1, 1, 0)
					r.Calls, r.WeightBasis, r.CPUState = 1, methodspan.BasisAssumed, methodspan.CPUUnavailable
				}
			}
		}
		if !s.wallOnly {
			p.Beat(from, time.Minute, time.Duration(busy), minute == treeMinutes-1)
		}
		items = append(items, p.Item())
	}
	return items
}

// answer is the result for a warehouse with one service.
type answer struct {
	found *findings.Findings
	*pairs.Comparison
	lines map[string]*evidence.Verdict
}

func asked(t *testing.T, root string, now time.Time) answer {
	t.Helper()
	found := evaluate(t, root, now, pairs.EvidenceRule{}, nil)
	if len(found.Comparisons) != 1 {
		t.Fatalf("%+v", found)
	}
	a := answer{found: found, Comparison: found.Comparisons[0], lines: map[string]*evidence.Verdict{}}
	for i := range a.Methods {
		l := &a.Methods[i]
		full := methodspan.Function{Class: l.Class, Method: l.Method}.Full()
		if a.lines[full] != nil {
			t.Errorf("%s is there twice", full)
		}
		a.lines[full] = l
	}
	return a
}

// text returns the answer as text.
func (a *answer) text(t *testing.T) string {
	return written(t, a.found.Document(output.View{Format: output.Text, Top: 20, Verbose: true}), output.Text)
}

// print logs the answer next to the true changes.
func (a *answer) print(t *testing.T, truths map[string]trueChange) {
	t.Helper()
	part := func(p *evidence.Part) string {
		if p == nil {
			return "-"
		}
		return fmt.Sprintf("%+.1f%% (%+.1f%% to %+.1f%%)", p.Percent, p.Interval[0], p.Interval[1])
	}
	say := func(l *evidence.Verdict) string {
		change := "-"
		if l.ChangePercent != nil {
			change = fmt.Sprintf("%+.1f%% (%+.1f%% to %+.1f%%)", *l.ChangePercent, l.Interval[0], l.Interval[1])
		}
		return fmt.Sprintf("%s, %s %s %s, measured %s, inclusive %s, taken off %s", findings.StateNames[l.State], l.Metric, l.Basis, change, part(l.Measured), part(l.Inclusive), part(l.Common))
	}
	for i := range a.Methods {
		l := &a.Methods[i]
		full := methodspan.Function{Class: l.Class, Method: l.Method}.Full()
		x := truths[full]
		t.Logf("%s: truth own %+.1f%%, inclusive %+.1f%%, as drawn %+.1f%%, %+.1f%% | said %s", full, x.own, x.inclusive, x.measuredOwn, x.measuredInclusive, say(l))
	}
	if a.WholeService != nil {
		t.Logf("whole service | said %s: %s", say(a.WholeService), a.WholeService.Reason)
	}
	t.Logf("%d alerts", len(a.found.Alerts))
}

// raised returns the kind and the method of each alert.
func (a *answer) raised() (names []string) {
	for i := range a.found.Alerts {
		x := &a.found.Alerts[i]
		names = append(names, fmt.Sprintf("%s %s", x.Kind, methodspan.Function{Class: x.Class, Method: x.Method}.Full()))
	}
	return names
}

func covers(interval [2]float64, x float64) bool { return interval[0] <= x && x <= interval[1] }

// wrongSide reports whether the whole interval has the opposite sign of change.
func wrongSide(interval [2]float64, change float64) bool {
	return change > 0 && interval[1] < 0 || change < 0 && interval[0] > 0
}

// chainOf returns a chain of n methods. Each has an own cost of 200 us and calls the next.
func chainOf(n int) []treeMethod {
	steps := make([]treeMethod, n)
	for i := range steps {
		steps[i] = treeMethod{name: fmt.Sprintf("app/chain.Step%d", i), caller: i - 1, own: 200 * time.Microsecond}
	}
	return steps
}

// treeEnd is the time of the last rows of a callTree.
var treeEnd = fixture.Start.Add(treeMinutes * time.Minute)

// TestFindings_ChainNamesLeaf: a leaf that regressed is the only alert, and its callers are explained by their callees.
func TestFindings_ChainNamesLeaf(t *testing.T) {
	fixture.SkipLong(t)
	const leaf = "app/chain.Step4"
	for _, hosts := range []float64{0, 0.06} {
		t.Run(fmt.Sprintf("hosts differ by %g%%", 100*hosts), func(t *testing.T) {
			own, inclusive, methods := 0, 0, 0
			for seed := range uint64(5) {
				s := callTree{steps: chainOf(5), base: 3, head: 3, hosts: hosts, requests: 20}
				s.steps[4].factor = 2.28
				root, truths := s.write(t, seed)
				a := asked(t, root, treeEnd)
				a.print(t, truths)
				if names := a.raised(); !a.found.Found() || !slices.Equal(names, []string{"regression " + leaf}) {
					t.Errorf("seed %d: raised %q", seed, names)
				}
				if text := a.text(t); seed == 0 && strings.Count(text, "by its callees") != 4 {
					t.Errorf("callers are not by their callees: %s", text)
				}
				for full, l := range a.lines {
					x := truths[full]
					if l.Basis != "own" || l.ChangePercent == nil || l.Inclusive == nil || l.Measured == nil {
						t.Fatalf("seed %d: %+v", seed, l)
					}
					if full != leaf && l.State != evidence.Explained {
						t.Errorf("seed %d: %s is %s", seed, full, l.State)
					}
					if wrongSide(*l.Interval, x.own) || l.Inclusive.Interval[0] <= 0 || x.own == 0 && !covers(*l.Interval, 0) && math.Abs(*l.ChangePercent) > 3 {
						t.Errorf("seed %d: %s has a wrong sign: truth %+v, said %v, inclusive %v", seed, full, x, *l.Interval, *l.Inclusive)
					}
					if full == leaf && !covers(*l.Interval, x.own) {
						t.Errorf("seed %d: %s: truth %+.1f%%, said %v", seed, full, x.own, *l.Interval)
					}
					// The truth of the inclusive interval is measuredInclusive: the drawn hosts affect the measured change.
					methods++
					if covers(*l.Interval, x.own) {
						own++
					}
					if covers(l.Inclusive.Interval, x.measuredInclusive) {
						inclusive++
					} else {
						t.Logf("seed %d: %s: inclusive as drawn %+.1f%%, said %v", seed, full, x.measuredInclusive, *l.Inclusive)
					}
					if hosts == 0 && seed == 0 && !covers(l.Inclusive.Interval, x.inclusive) {
						t.Errorf("%s: inclusive truth %+.1f%%, said %v", full, x.inclusive, *l.Inclusive)
					}
				}
			}
			if least := methods * 88 / 100; own < least || inclusive < least {
				t.Errorf("of %d intervals of 95%% %d cover the own change, %d the inclusive one", methods, own, inclusive)
			}
		})
	}
}

// shopOfFlask returns the spans of a web service as stock instrumentation creates them.
func shopOfFlask() []treeMethod {
	const ms = time.Millisecond
	return []treeMethod{
		{name: "GET /checkout", caller: -1, own: 2 * ms},
		{name: "shop.cart.load", caller: 0, own: 3 * ms},
		{name: "SELECT carts", caller: 1, own: 6 * ms},
		{name: "shop.price.total", caller: 0, own: 2 * ms},
		{name: "shop.price.tax", caller: 3, own: 4 * ms},
		{name: "SELECT rates", caller: 4, own: 3 * ms},
		{name: "shop.templates.render", caller: 0, own: 5 * ms},
	}
}

// TestFindings_StockInstrumentation: spans of another SDK have wall time only, and no common change is subtracted from it.
func TestFindings_StockInstrumentation(t *testing.T) {
	fixture.SkipRaced(t)
	for seed := range uint64(3) {
		s := callTree{steps: shopOfFlask(), base: 2, head: 2, hosts: 0.03, requests: 40, wallOnly: true}
		s.steps[4].factor = 2
		root, truths := s.write(t, seed)
		a := asked(t, root, treeEnd)
		if seed == 0 {
			a.print(t, truths)
		}
		if !a.found.Found() && !a.found.Inconclusive() {
			t.Errorf("seed %d: neither found nor undecided", seed)
		}
		if len(a.lines) != len(s.steps) {
			t.Errorf("seed %d: %d methods", seed, len(a.lines))
		}
		for full, l := range a.lines {
			x := truths[full]
			if l.Metric != string(query.Wall) || l.ChangePercent == nil || l.Measured == nil || l.Basis != "own" {
				t.Fatalf("seed %d: %+v", seed, l)
			}
			if l.Common != nil || l.Remaining != nil || !strings.HasPrefix(l.CommonReason, "not identified: wall time") {
				t.Errorf("seed %d: %s: %v is taken off, %q", seed, full, l.Common, l.CommonReason)
			}
			if math.Abs(l.Measured.Percent-x.measuredOwn) > 6 && x.own == 0 || !covers(*l.Interval, x.own) {
				t.Errorf("seed %d: %s: %+v %v, truth %+v", seed, full, *l.Measured, *l.Interval, x)
			}
			if changed := x.own > 0; changed != (l.State == evidence.Regressed || l.State == evidence.Undecided) || changed && l.Interval[1] < 50 || l.State == evidence.Moved {
				t.Errorf("seed %d: %s is %s, %v", seed, full, l.State, *l.Interval)
			}
		}
	}
}

// TestFindings_FewProcesses: with two processes per version, a method that became twice as expensive is regressed or
// undecided, and no other method is reported in its place.
func TestFindings_FewProcesses(t *testing.T) {
	fixture.SkipLong(t)
	for seed := range uint64(3) {
		s := callTree{steps: append(chainOf(4), chainOf(5)...), base: 2, head: 2, hosts: 0.06, requests: 20}
		for m := range s.steps[4:] {
			s.steps[4+m].name, s.steps[4+m].caller = fmt.Sprintf("app/tree.Branch%d", m), m/2
		}
		const changed = "app/tree.Branch3"
		s.steps[7].factor = 2
		root, truths := s.write(t, seed)
		a := asked(t, root, treeEnd)
		a.print(t, truths)
		if names := a.raised(); !a.found.Found() && !a.found.Inconclusive() || len(names) > 1 || len(names) == 1 && names[0] != "regression "+changed {
			t.Errorf("seed %d: raised %q", seed, names)
		}
		for full, l := range a.lines {
			x := truths[full]
			if l.Interval == nil || !covers(*l.Interval, x.own) && full == changed || x.own == 0 && !covers(*l.Interval, 0) && math.Abs(*l.ChangePercent) > 3 {
				t.Errorf("seed %d: %s: truth %+.1f%%, said %+v", seed, full, x.own, l)
			}
			if l.State == evidence.Moved || (full == changed) != (l.State == evidence.Regressed || l.State == evidence.Undecided) {
				t.Errorf("seed %d: %s is %s", seed, full, l.State)
			}
		}
	}
}

// TestFindings_MetricPerMethod: a method with CPU time does not prevent the other methods from being compared by wall
// time.
func TestFindings_MetricPerMethod(t *testing.T) {
	s := callTree{steps: shopOfFlask(), base: 3, head: 3, hosts: 0.03, requests: 40, wallOnly: true}
	s.steps[6].cpu = true
	s.steps[2].factor = 2.5
	root, truths := s.write(t, 1)
	a := asked(t, root, treeEnd)
	a.print(t, truths)
	if len(a.lines) != len(s.steps) || len(a.Methods) != len(s.steps) {
		t.Errorf("%d lines", len(a.Methods))
	}
	for full, l := range a.lines {
		metric := query.Wall
		if full == "shop.templates.render" {
			metric = query.CPU
		}
		if !l.State.Judged() || l.Metric != string(metric) || l.BaseRecords < 1000 || l.HeadRecords < 1000 {
			t.Errorf("%s: %+v", full, l)
		}
	}
	if names := a.raised(); !a.found.Found() || !slices.Contains(names, "regression "+methodspan.ParseFunction("SELECT carts").Full()) || len(names) != 1 {
		t.Errorf("raised %q", names)
	}
	if said := strings.Join(a.Warnings, "\n"); strings.Contains(said, "not counted") { // missing CPU time does not mean missing counts
		t.Error(said)
	}
}

// TestFindings_EverythingTenTimes: a change of all methods that is larger than hosts can cause is never subtracted as a
// common change and never ignored.
func TestFindings_EverythingTenTimes(t *testing.T) {
	fixture.SkipLong(t)
	for _, processes := range [][2]int{{1, 1}, {2, 2}, {6, 1}} {
		t.Run(fmt.Sprintf("%d+%d", processes[0], processes[1]), func(t *testing.T) {
			s := callTree{steps: chainOf(5), base: processes[0], head: processes[1], hosts: 0.06, requests: 20}
			for m := range s.steps {
				s.steps[m].own, s.steps[m].factor = time.Millisecond, 10
			}
			root, truths := s.write(t, 1)
			a := asked(t, root, treeEnd)
			a.print(t, truths)
			if !a.found.Found() && !a.found.Inconclusive() || a.found.Found() != (len(a.found.Alerts) > 0) {
				t.Errorf("%d alerts", len(a.found.Alerts))
			}
			about := func(percent float64) bool { return percent > 700 && percent < 1200 }
			if w := a.WholeService; w == nil || w.Measured == nil || !about(w.Measured.Percent) || w.Common != nil {
				t.Errorf("whole service: %+v", w)
			}
			if len(a.lines) != 5 {
				t.Errorf("%d methods", len(a.lines))
			}
			from := "these processes and the defaults"
			if processes[0] == 6 { // enough processes to estimate the spreads without defaults
				from = "these processes"
			}
			if s := a.Spreads; s == nil || s.From != from || !(s.Processes > 0) {
				t.Errorf("spreads: %+v", s)
			}
			for full, l := range a.lines {
				if l.Measured == nil || !about(l.Measured.Percent) || l.Common != nil || l.State == evidence.Moved || l.State == evidence.NotProven {
					t.Errorf("%s: %+v", full, l)
				}
				if !about(inPercent(l.HeadNSPerCall/l.BaseNSPerCall)) || l.HeadNSPerCall < 7e6 || l.HeadNSPerCall > 13e6 {
					t.Errorf("%s: %.0f and %.0f ns per call", full, l.BaseNSPerCall, l.HeadNSPerCall)
				}
			}
			text := a.text(t)
			if !strings.Contains(text, "whole service: ") || strings.Contains(text, "no method regressed") {
				t.Errorf("%+v", text)
			}
			t.Logf("in words:\n%s", text)
			for _, name := range []string{"Step0", "Step3", "Step4"} {
				reason := a.lines["app/chain."+name].Reason
				if strings.Contains(reason, "pays what it paid") || !strings.Contains(reason, "nothing taken off") {
					t.Errorf("%s: %s", name, reason)
				}
			}
			// Step4 is a leaf, so no callee explains it.
			if l := a.lines["app/chain.Step4"]; l.State == evidence.Explained || strings.Contains(l.Reason, "because of what it calls") {
				t.Errorf("%+v", l)
			}
		})
	}
}

// TestFindings_VersionsOfOneInstant: versions that start together are put in order by their version numbers.
func TestFindings_VersionsOfOneInstant(t *testing.T) {
	fixture.SkipRaced(t)
	s := callTree{steps: chainOf(5), base: 3, head: 3, hosts: 0.03, requests: 20, tie: true}
	s.steps[4].factor = 1.5
	root, truths := s.write(t, 1)
	a := asked(t, root, treeEnd)
	a.print(t, truths)
	if a.BaseVersion != deploygen.BaseVersion || a.HeadVersion != deploygen.HeadVersion || a.ChosenBy != "version order" {
		t.Errorf("%s against %s by %s", a.HeadVersion, a.BaseVersion, a.ChosenBy)
	}
	if names := a.raised(); !a.found.Found() || !slices.Equal(names, []string{"regression app/chain.Step4"}) {
		t.Errorf("raised %q", names)
	}
	if l := a.lines["app/chain.Step4"]; l == nil || !covers(*l.Interval, 50) {
		t.Errorf("%+v", l)
	}
	if text := a.text(t); !strings.Contains(text, "chosen by version order") || strings.Contains(text, "only version") {
		t.Errorf("%s", text)
	}
}

// drawn writes a scene to a new warehouse and evaluates it. truths are the changes by method, in percent.
func drawn(t *testing.T, s deploygen.Scene, seed uint64) (a answer, d *deploygen.Deployment, truths map[string]trueChange) {
	t.Helper()
	d = deploygen.Draw(s, seed)
	root := t.TempDir()
	if err := rows.Write(context.Background(), root, "drawn", d); err != nil {
		t.Fatal(err)
	}
	truths = map[string]trueChange{}
	for i := range d.Methods {
		m := &d.Methods[i]
		truths[methodspan.ParseFunction(m.Name).Full()] = trueChange{
			100 * math.Expm1(m.Own), 100 * math.Expm1(m.Inclusive), 100 * math.Expm1(m.MeasuredOwn), 100 * math.Expm1(m.MeasuredInclusive),
		}
	}
	return asked(t, root, deploygen.Begin.Add(deploygen.DefaultDuration)), d, truths
}

// TestFindings_RareExpensiveCalls: a regression is found if one call in a hundred costs 100 times as much. The printed
// change is the change of the mean.
func TestFindings_RareExpensiveCalls(t *testing.T) {
	fixture.SkipLong(t)
	const seeds = 10
	found, covered := 0, 0
	for seed := range uint64(seeds) {
		a, d, truths := drawn(t, deploygen.Scene{
			Structure: deploygen.Chain(3), Change: deploygen.Change{Where: deploygen.Nothing, Factor: 1}, Base: 3, Head: 3, HostSD: 0.06, InstanceSD: 0.015,
			Disturbance: deploygen.Disturbance{Rare: deploygen.Rare{P: 0.01, Factor: 100}}, Records: 3000,
		}, seed)
		a.print(t, truths)
		const leaf = "app/steps.Step02"
		l, x := a.lines[leaf], truths[leaf]
		if l == nil || l.Measured == nil {
			t.Fatalf("seed %d: %+v", seed, l)
		}
		names := a.raised()
		if slices.Contains(names, "regression "+leaf) {
			found++
		}
		if len(slices.DeleteFunc(names, func(name string) bool { return name == "regression "+leaf })) > 0 {
			t.Errorf("seed %d: raised %q", seed, names)
		}
		if covers(*l.Interval, x.own) {
			covered++
		}
		var sum, n [2]float64
		d.Each(func(c deploygen.Call) {
			if c.Method != 2 {
				return
			}
			v := 0
			if d.Processes[c.Process].Head {
				v = 1
			}
			sum[v], n[v] = sum[v]+float64(c.CPU), n[v]+1
		})
		plain := sum[1] / n[1] * n[0] / sum[0]
		t.Logf("seed %d: truth own %+.1f%%, as drawn %+.1f%%, mean of the records %+.1f%% | said %s %+.1f%% (%+.1f%% to %+.1f%%), measured %+.1f%%",
			seed, x.own, x.measuredOwn, inPercent(plain), findings.StateNames[l.State], *l.ChangePercent, l.Interval[0], l.Interval[1], l.Measured.Percent)
		if ratio := (1 + l.Measured.Percent/100) / plain; ratio < 0.97 || ratio > 1.03 {
			t.Errorf("seed %d: measured %+.1f%%, the records' means differ by %+.1f%%", seed, l.Measured.Percent, inPercent(plain))
		}
	}
	if found < 9 || covered < 8 {
		t.Errorf("found in %d of %d seeds, covered in %d", found, seeds, covered)
	}
}

// TestFindings_NamesLoad: if the processes of one version get 2.5 times the requests of the other version's, a warning
// contains that factor and no alert is raised.
func TestFindings_NamesLoad(t *testing.T) {
	fixture.SkipLong(t)
	for _, load := range []float64{2.5, 1 / 2.5} {
		for seed := range uint64(10) {
			a, _, truths := drawn(t, deploygen.Scene{
				Structure: deploygen.Chain(5), Change: deploygen.Change{Where: deploygen.Nothing, Factor: 1}, Base: 3, Head: 3, HostSD: 0.06, InstanceSD: 0.015,
				Disturbance: deploygen.Disturbance{HeadLoad: load},
			}, seed)
			if len(a.found.Alerts) > 0 || seed == 0 {
				a.print(t, truths)
				t.Logf("warnings: %q", a.Warnings)
			}
			if len(a.found.Alerts) > 0 {
				t.Errorf("load x%g, seed %d: raised %q", load, seed, a.raised())
			}
			if !slices.ContainsFunc(a.Warnings, func(w string) bool {
				said := 0.0
				fmt.Sscanf(w, "a process of the new version gets %g times the calls of one of the base", &said)
				return math.Abs(said/load-1) < 0.1
			}) {
				t.Errorf("load x%g, seed %d: it is not named in %q", load, seed, a.Warnings)
			}
		}
	}
}

// TestFindings_SampledScenes compares alerts and intervals with the truth, for a sample of small scenes of both families.
func TestFindings_SampledScenes(t *testing.T) {
	fixture.SkipLong(t)
	for _, family := range [][]deploygen.Scene{deploygen.SmallServices(), deploygen.Independent()} {
		small := slices.DeleteFunc(family, func(s deploygen.Scene) bool {
			return s.Structure.Methods*(s.Base+s.Head)*max(s.Records, deploygen.DefaultRecords) > 60_000
		})
		for i, s := range deploygen.Pick(small, 6, 20) {
			t.Run(strings.ReplaceAll(s.Name(), " ", "_"), func(t *testing.T) {
				a, d, truths := drawn(t, s, uint64(i))
				a.print(t, truths)
				changed := slices.ContainsFunc(d.Methods, func(m deploygen.Method) bool { return !m.Unchanged })
				for j := range a.found.Alerts {
					x := &a.found.Alerts[j]
					full := methodspan.Function{Class: x.Class, Method: x.Method}.Full()
					if x.Kind == alert.WholeService && !changed || x.Kind != alert.WholeService && truths[full].own == 0 {
						t.Errorf("%s of %s is raised", x.Kind, full)
					}
				}
				for full, l := range a.lines {
					x := truths[full]
					change := x.own
					if l.Basis == "inclusive" {
						change = x.inclusive
					}
					if l.Interval != nil && wrongSide(*l.Interval, change) || l.State == evidence.Moved && x.own == 0 {
						t.Errorf("%s: truth %+.1f%%, said %s %v", full, change, l.State, *l.Interval)
					}
				}
			})
		}
	}
}
