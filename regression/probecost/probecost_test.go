package probecost

import (
	"math"
	"testing"

	"github.com/corehour/corehour/regression/query"
)

func near(t *testing.T, what string, found, want float64) {
	t.Helper()
	if math.Abs(found-want) > 1e-6*max(1, math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, found, want)
	}
}

// A version without counters uses the costs of its service. Counters of old SDKs give larger errors.
func TestTable_CostsByVersion(t *testing.T) {
	s := query.Service{Name: "shop"}
	table := TableOf([]query.ProcessStats{
		{Service: s, Version: "1", Stats: map[string]float64{"probe.cpu.cost_ns": 1000, "probe.wall.cost_ns": 100}},
		{Service: s, Version: "2", Stats: map[string]float64{"probe.inside_ns": 30, "probe.inside.spread_ns": 9, "probe.cpu.cost_ns": 1500, "probe.cpu.spread_ns": 200, "probe.counted.cost_ps": 8000}},
		{Service: s, Version: "2", Stats: map[string]float64{"probe.inside_ns": 30, "probe.inside.spread_ns": 9, "probe.cpu.cost_ns": 1500, "probe.cpu.spread_ns": 200, "probe.counted.cost_ps": 8000, "probe.wait_ns": 16_000}},
		{Service: s, Version: "3"},
		{Service: s, Version: "4", Stats: map[string]float64{"probe.inside_ns": 30, "probe.cpu.cost_ns": 1500, "probe.counted.cost_ps": 50_000, "probe.counted.spread_ps": 70_000}},
	})
	old, now := table.CostsOf(s, "1"), table.CostsOf(s, "2")
	near(t, "inside of an old SDK", old.Inside.Mean, 250)
	near(t, "its error", old.Inside.SE, 250)
	near(t, "a probe of an old SDK", old.CPU.Mean, 1300)
	near(t, "inside", now.Inside.Mean, 30)
	near(t, "10 calls, 2 timed below, 100 counted", now.Total(Calls{Own: 10, CPU: 2, Counted: 100}), 300+3000+800)
	near(t, "errors", now.Errors(Calls{Own: 10, CPU: 2}).SE(), math.Hypot(300, 400)) // the relative standard error of the part inside is 1
	near(t, "the error of 10 counted calls, of a loop", now.Errors(Calls{Counted: 10}).SE(), 24)
	near(t, "measured in place", table.CostsOf(s, "4").Errors(Calls{Counted: 10}).SE(), 250)
	near(t, "3 waits, of the processes that waited", now.Total(Calls{Waits: 3}), 48_000)
	near(t, "their error", now.Errors(Calls{Waits: 3}).SE(), 38_400)
	near(t, "a wait of another version", old.Total(Calls{Waits: 1}), 16_000)
	if !table.CostsOf(s, "3").Known() || table.CostsOf(query.Service{Name: "other"}, "1").Known() {
		t.Error("a version without counters has those of its service, another service none")
	}
}

// Probes are propagated to callers: by shares of calls if no time is known, else by shares of time.
func TestBelow(t *testing.T) {
	costs := Costs{CPU: Figure{Mean: 1}, Counted: Figure{Mean: 0.01}}
	below := costs.Below([]Edge{
		{Caller: "a", Callee: "b", Calls: 10, Probes: Calls{CPU: 1}},
		{Caller: "b", Callee: "c", Calls: 40, Probes: Calls{CPU: 4, Counted: 36}},
		{Caller: "other", Callee: "b", Calls: 10},
		{Caller: "c", Callee: "c", Calls: 5, Probes: Calls{CPU: 5}},
	}, map[string]Method{"a": {Calls: 1}, "b": {Calls: 20}, "c": {Calls: 45}})
	near(t, "CPU below c", below["c"].CPU, 5/(1-5.0/45))
	near(t, "CPU below a", below["a"].CPU, 1+(4+below["c"].CPU*40/45)/2)
	near(t, "counted below a", below["a"].Counted, 18)
	below = costs.Below([]Edge{
		{Caller: "expensive", Callee: "b", Calls: 1, Time: 900, Probes: Calls{CPU: 1}},
		{Caller: "cheap", Callee: "b", Calls: 99, Time: 100, Probes: Calls{CPU: 99}},
		{Caller: "b", Callee: "c", Calls: 100, Time: 500, Probes: Calls{CPU: 100}},
	}, map[string]Method{"expensive": {1, 900}, "cheap": {99, 200}, "b": {100, 1000}, "c": {100, 500}})
	near(t, "below the one that pays most of it", below["expensive"].CPU, 1+90)
	near(t, "below the other one", below["cheap"].CPU, 99+10)
}

// One call enters a recursion of two methods, 17 levels deep. For each method the share of probes in its inclusive
// time has to equal the share of probes in a single call.
func TestBelow_Recursion(t *testing.T) {
	const n, own, probe, levels = 100_000, 100.0, 30.0, 17
	costs := Costs{Counted: Figure{Mean: probe}}
	whole := n * (own + probe) // self time of all calls of one method; each level includes all levels below
	inclusive := whole * 2 * levels / 2
	below := costs.Below([]Edge{
		{Caller: "main", Callee: "walk", Calls: 1, Time: 2 * whole, Probes: Calls{Counted: 1}},
		{Caller: "walk", Callee: "visit", Calls: n, Time: inclusive, Probes: Calls{Counted: n}},
		{Caller: "visit", Callee: "walk", Calls: n - 1, Time: inclusive - whole, Probes: Calls{Counted: n - 1}},
	}, map[string]Method{
		"main":  {1, 2*whole + 1000},
		"walk":  {n, inclusive + whole},
		"visit": {n, inclusive},
	})
	for name, time := range map[string]float64{"main": 2*whole + 1000, "walk": inclusive + whole, "visit": inclusive} {
		if share := costs.Total(below[name]) / time; math.Abs(share/(probe/(own+probe))-1) > 0.02 {
			t.Errorf("%s: %.3f of its time are probes, want %.3f", name, share, probe/(own+probe))
		}
	}
	alone := costs.Below([]Edge{{Caller: "fib", Callee: "fib", Calls: n, Time: 50 * whole, Probes: Calls{Counted: n}}}, map[string]Method{"fib": {n, 50 * whole}})
	if cost := costs.Total(alone["fib"]); !(cost > 0 && cost <= 50*whole) {
		t.Errorf("of a recursion whose outermost call was not timed: %v ns of probes in %v", cost, 50*whole)
	}
}

// The sum decreases to the limit, the least certain estimates change most, and no positive estimate becomes negative.
func TestReconcile(t *testing.T) {
	all := []Estimate{
		{Value: 100, Variance: 1},
		{Value: 70, Variance: 400},
		{Value: 5, Variance: 400},
		{Value: -3, Variance: 1},
	}
	if !Reconcile(all, 120) {
		t.Fatal("nothing changed")
	}
	sum := 0.0
	for _, e := range all {
		sum += e.Value
	}
	near(t, "sum", sum, 120)
	if all[0].Value < 99 || all[1].Value > 30 || all[2].Value != 0 {
		t.Errorf("%+v", all)
	}
	if Reconcile(all, 121) {
		t.Error("a sum below the limit was changed")
	}
	unknown := []Estimate{{Value: 30}, {Value: 10}}
	Reconcile(unknown, 20)
	near(t, "where no uncertainty is known, all shrink alike", unknown[0].Value, 15)
	// An error that all estimates share moves each by its part of it.
	shared := []Estimate{{Value: 3000, Errors: Errors{200}}, {Value: 100, Errors: Errors{2}}}
	Reconcile(shared, 2000)
	near(t, "shared error", shared[1].Value, 100-1100.0*2/202)
}
