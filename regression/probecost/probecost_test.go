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

// A version without counters has the costs of its service, and old counters give less certain ones.
func TestCostsOfVersions(t *testing.T) {
	s := query.Service{Name: "shop"}
	table := TableOf([]query.ProcessStats{
		{Service: s, Version: "1", Stats: map[string]float64{"probe.cpu.cost_ns": 1000, "probe.wall.cost_ns": 100}},
		{Service: s, Version: "2", Stats: map[string]float64{"probe.inside_ns": 30, "probe.inside.spread_ns": 9, "probe.cpu.cost_ns": 1500, "probe.cpu.spread_ns": 200, "probe.counted.cost_ps": 8000}},
		{Service: s, Version: "2", Stats: map[string]float64{"probe.inside_ns": 30, "probe.inside.spread_ns": 9, "probe.cpu.cost_ns": 1500, "probe.cpu.spread_ns": 200, "probe.counted.cost_ps": 8000, "probe.wait_ns": 16_000}},
		{Service: s, Version: "3"},
	})
	old, now := table.Of(s, "1"), table.Of(s, "2")
	near(t, "inside of an old SDK", old.Inside.Mean, 250)
	near(t, "its error", old.Inside.SE, 250)
	near(t, "a probe of an old SDK", old.CPU.Mean, 1300)
	near(t, "inside", now.Inside.Mean, 30)
	near(t, "10 calls, 2 timed below, 100 counted", now.Of(Calls{Own: 10, CPU: 2, Counted: 100}), 300+3000+800)
	near(t, "errors", now.Errors(Calls{Own: 10, CPU: 2}).SE(), math.Hypot(300, 400)) // the part inside is known to its own size
	near(t, "3 waits, of the processes that waited", now.Of(Calls{Waits: 3}), 48_000)
	near(t, "their error", now.Errors(Calls{Waits: 3}).SE(), 38_400)
	near(t, "a wait of another version", old.Of(Calls{Waits: 1}), 16_000)
	if !table.Of(s, "3").Known() || table.Of(query.Service{Name: "other"}, "1").Known() {
		t.Error("a version without counters has those of its service, another service none")
	}
}

// Probes are followed down, shared out by calls, and a method that calls itself ends it.
func TestProbesBelow(t *testing.T) {
	below := Below([]Edge{
		{Caller: "a", Callee: "b", Calls: 10, Probes: Calls{CPU: 1}},
		{Caller: "b", Callee: "c", Calls: 40, Probes: Calls{CPU: 4, Counted: 36}},
		{Caller: "other", Callee: "b", Calls: 10},
		{Caller: "c", Callee: "c", Calls: 5, Probes: Calls{CPU: 5}},
	}, map[string]float64{"a": 1, "b": 20, "c": 45})
	near(t, "CPU below a", below["a"].CPU, 1+4.0/2)
	near(t, "counted below a", below["a"].Counted, 18)
	near(t, "below c", below["c"].CPU, 0)
}

// The sum comes down to the limit, the least certain estimates give most of it, and
// nothing that cost something costs less than nothing.
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
	// An error that all share moves them by their parts in it.
	shared := []Estimate{{Value: 3000, Errors: Errors{200}}, {Value: 100, Errors: Errors{2}}}
	Reconcile(shared, 2000)
	near(t, "shared error", shared[1].Value, 100-1100.0*2/202)
}
