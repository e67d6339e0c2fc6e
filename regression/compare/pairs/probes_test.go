package pairs

import (
	"math"
	"testing"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/regression/query"
)

// sides makes a caller and its callee in both versions, and returns the caller's time per call after subtracting
// probes.
func sides(t *testing.T, own, calls, timed, probe [2]float64, stats map[string]float64) (left [2]float64) {
	t.Helper()
	pair := Pair{Base: Deployment{Version: "1"}, Head: Deployment{Version: "2"}}
	var processes []query.ProcessStats
	var cells []query.Cell
	for side, n := range timed {
		processes = append(processes, query.ProcessStats{Version: [2]string{"1", "2"}[side], Stats: stats})
		ns := own[side] + probe[side]*n
		cells = append(cells,
			query.Cell{Full: "caller", Member: side, Records: 1, Weight: 1, Sum: ns, Capped: ns, Log: math.Log(ns)},
			query.Cell{Full: "callee", Caller: "caller", Member: side, Records: n, Weight: calls[side], Calls: calls[side], TimedCPU: n})
	}
	subtractProbes(probecost.TableOf(processes), cells, func(member int) evidence.Side { return evidence.Side(member) }, pair)
	for side, i := range [2]int{0, 2} {
		c := cells[i]
		if math.Abs(math.Exp(c.Log)-c.Sum) > 1e-3*c.Sum || c.Capped != c.Sum {
			t.Errorf("%v calls timed: the sums differ: %+v", timed, c)
		}
		left[side] = c.Sum
	}
	return left
}

// The probes of ten timed calls are in the time of their caller. Their cost is subtracted up to twice its
// uncertainty, so a change of sampling rates changes the caller in neither direction, also with SDKs that
// calibrated in a loop.
func TestSubtractProbes_Callees(t *testing.T) {
	inPlace := map[string]float64{"probe.inside_ns": 30, "probe.inside.spread_ns": 10, "probe.cpu.cost_ns": 1500, "probe.cpu.spread_ns": 300}
	for name, stats := range map[string]map[string]float64{"in a loop": {"probe.cpu.cost_ns": 1000}, "in place": inPlace} {
		for _, timed := range [][2]float64{{0, 10}, {10, 0}, {10, 10}, {0, 0}} {
			left := sides(t, [2]float64{100_000, 100_000}, [2]float64{10, 10}, timed, [2]float64{1600, 1600}, stats)
			if change := left[1]/left[0] - 1; math.Abs(change) > 0.001 {
				t.Errorf("%s: %v calls timed: %.0f ns of the base and %.0f of the head are left, which is %+.1f%%", name, timed, left[0], left[1], 100*change)
			}
			if math.Abs(left[0]/100_000-1) > 0.04 {
				t.Errorf("%s: %v calls timed: %.0f ns of the base are left of 100000", name, timed, left[0])
			}
		}
	}
}

// Each wait makes a timed call more expensive, but a version that waits more often is not slower. A change beyond that
// cost and its uncertainty is found.
func TestSubtractProbes_Waits(t *testing.T) {
	stats := map[string]float64{"probe.inside_ns": 30, "probe.cpu.cost_ns": 1500, "probe.wait_ns": 15_000}
	older := map[string]float64{"probe.inside_ns": 30, "probe.cpu.cost_ns": 1500}
	for _, tc := range []struct{ waits, head, want float64 }{{1, 100_000, 0}, {3, 100_000, 0}, {-3, 100_000, 0}, {1, 150_000, 0.25}} {
		pair := Pair{Base: Deployment{Version: "1"}, Head: Deployment{Version: "2"}}
		processes := []query.ProcessStats{{Version: "1", Stats: stats}, {Version: "2", Stats: stats}}
		cells := []query.Cell{
			{Full: "m", Member: 0, Records: 1, Weight: 10, Sum: 10 * (100_000 + 15_000*max(0, -tc.waits)), Waits: 10 * max(0, -tc.waits)},
			{Full: "m", Member: 1, Records: 1, Weight: 10, Sum: 10 * (tc.head + 15_000*max(0, tc.waits)), Waits: 10 * max(0, tc.waits)},
		}
		subtractProbes(probecost.TableOf(processes), cells, func(member int) evidence.Side { return evidence.Side(member) }, pair)
		change := cells[1].Sum/cells[0].Sum - 1
		if tc.want == 0 && math.Abs(change) > 0.001 || tc.want != 0 && (change < tc.want || change > 0.5) {
			t.Errorf("%v more waits, %.0f ns in the head: %+.1f%%, want %+.0f%%", tc.waits, tc.head, 100*change, 100*tc.want)
		}
	}
	// If the SDK of one version does not count waits, they are not subtracted from the other version either.
	cells := []query.Cell{
		{Full: "m", Member: 0, Records: 1, Weight: 10, Sum: 10 * 130_000},
		{Full: "m", Member: 1, Records: 1, Weight: 10, Sum: 10 * 130_000, Waits: 20},
	}
	table := probecost.TableOf([]query.ProcessStats{{Version: "1", Stats: older}, {Version: "2", Stats: stats}})
	subtractProbes(table, cells, func(member int) evidence.Side { return evidence.Side(member) }, Pair{Base: Deployment{Version: "1"}, Head: Deployment{Version: "2"}})
	if change := cells[1].Sum/cells[0].Sum - 1; math.Abs(change) > 0.001 {
		t.Errorf("next to an older SDK: %+.1f%%", 100*change)
	}
}

// A caller that makes more small calls is unchanged itself. A change beyond the uncertainty of the probes is found.
func TestSubtractProbes_MoreSmallCalls(t *testing.T) {
	stats := map[string]float64{"probe.inside_ns": 30, "probe.inside.spread_ns": 10, "probe.cpu.cost_ns": 1500, "probe.cpu.spread_ns": 300, "probe.counted.cost_ps": 8000}
	calls := [2]float64{10, 200}
	for _, tc := range []struct{ head, want float64 }{{100_000, 0}, {150_000, 0.38}, {60_000, -0.28}} {
		left := sides(t, [2]float64{100_000 + 8*9, tc.head + 8*180}, calls, [2]float64{1, 20}, [2]float64{1500, 1500}, stats)
		change := left[1]/left[0] - 1
		if tc.want == 0 && math.Abs(change) > 0.001 || tc.want != 0 && (change/tc.want < 0.99 || math.Abs(change) > 0.51) {
			t.Errorf("%.0f ns in the head: %+.1f%%, want at least %+.0f%%", tc.head, 100*change, 100*tc.want)
		}
	}
}

// A rare expensive call of the base raises its mean and, by its waits, the uncertainty. It must not move the calls that
// did not change: the typical and the capped cost stay the same.
func TestSubtractProbes_RareExpensiveCall(t *testing.T) {
	const calls, typical = 10_000, 60.0
	for name, rare := range map[string][2]float64{"in the base": {4e6, 0}, "in the head": {0, 4e6}} {
		stats := map[string]float64{"probe.inside_ns": 30, "probe.inside.spread_ns": 10, "probe.cpu.cost_ns": 1500, "probe.cpu.spread_ns": 300, "probe.wait_ns": 15_000, "probe.wait.spread_ns": 15_000}
		var processes []query.ProcessStats
		var cells []query.Cell
		for side, extra := range rare {
			processes = append(processes, query.ProcessStats{Version: [2]string{"1", "2"}[side], Stats: stats})
			c := query.Cell{
				Full: "m", Member: side, Records: 100, Weight: calls, Calls: calls, TimedCPU: 100,
				Sum: typical*calls + extra, Capped: typical * calls, Log: math.Log(typical) * calls,
			}
			if extra > 0 {
				c.Waits = 100
			}
			cells = append(cells, c)
		}
		pair := Pair{Base: Deployment{Version: "1"}, Head: Deployment{Version: "2"}}
		subtractProbes(probecost.TableOf(processes), cells, func(member int) evidence.Side { return evidence.Side(member) }, pair)
		base, head := cells[0], cells[1]
		if change := head.Capped/base.Capped - 1; math.Abs(change) > 0.001 {
			t.Errorf("%s: the capped cost changes by %+.1f%%", name, 100*change)
		}
		if change := math.Expm1((head.Log - base.Log) / calls); math.Abs(change) > 0.001 {
			t.Errorf("%s: the typical call changes by %+.1f%%", name, 100*change)
		}
	}
}
