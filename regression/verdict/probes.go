package verdict

import (
	"context"
	"math"
	"slices"

	"github.com/corehour/corehour/regression/judge"
	"github.com/corehour/corehour/regression/query"
)

// probeCost is what the SDKs say that one timed call costs, in ns, by service and
// version: without and with its CPU.
type probeCost map[versionOf][2]float64

type versionOf struct {
	query.Service
	version string
}

// probeCosts takes the median over the processes of a version.
func probeCosts(ctx context.Context, w *query.Warehouse) (probeCost, error) {
	processes, err := w.ProcessStats(ctx, w.Window, query.Filter{})
	if err != nil {
		return nil, err
	}
	seen := map[versionOf][2][]float64{}
	for _, p := range processes {
		key := versionOf{p.Service, p.Version}
		of := seen[key]
		for i, name := range [2]string{"probe.wall.cost_ns", "probe.cpu.cost_ns"} {
			if ns := p.Stats[name]; ns > 0 {
				of[i] = append(of[i], ns)
			}
		}
		seen[key] = of
	}
	costs := probeCost{}
	for key, of := range seen {
		var median [2]float64
		for i := range of {
			if n := len(of[i]); n > 0 {
				slices.Sort(of[i])
				median[i] = of[i][n/2]
			}
		}
		costs[key] = median
	}
	return costs, nil
}

// depthOfProbes is how far down the calls below a method are followed.
const depthOfProbes = 24

// atLeast is the share of a time that is left whatever the probes cost: the cost is
// that of another moment and another machine state.
const atLeast = 0.05

// doubt is how many times as much as calibrated a probe may really cost. The SDK
// calibrates in a hot loop and keeps the lowest cost; amid other work a probe was seen
// to cost 1.6 times as much.
const doubt = 2

// subtract takes out of every method's time what the probes of timed calls below it
// cost: they are charged to whoever is being timed, and a change of rates would
// look like a change of the method. What a callee below several callers cost is
// shared out by calls. What the head's probes cost more than the base's is taken out
// doubt times, so that what is not known of it raises nobody.
func (costs probeCost) subtract(cells []query.Cell, sideOf func(int) judge.Side, p Pair) {
	of := [2][2]float64{
		judge.Base: costs[versionOf{p.Service, p.Base.Version}],
		judge.Head: costs[versionOf{p.Service, p.Head.Version}],
	}
	if of == [2][2]float64{} {
		return
	}
	type place struct {
		side judge.Side
		slot int64
	}
	type call struct{ caller, callee string }
	type at struct {
		calls map[string]float64 // of a method
		edges map[call]float64   // calls
		own   map[string]float64 // ns of probes right below a method
	}
	places := map[place]*at{}
	for i := range cells {
		c := &cells[i]
		key := place{sideOf(c.Member), c.Slot}
		a := places[key]
		if a == nil {
			a = &at{calls: map[string]float64{}, edges: map[call]float64{}, own: map[string]float64{}}
			places[key] = a
		}
		a.calls[c.Full] += c.Weight
		if c.Caller != "" && c.Caller != c.Full {
			a.edges[call{c.Caller, c.Full}] += c.Weight
			a.own[c.Caller] += c.TimedWall*of[key.side][0] + c.TimedCPU*of[key.side][1]
		}
	}
	perCall := map[place]map[string]float64{}
	type sum struct{ calls, ns float64 }
	sums := map[string][2]sum{} // of a method, over all slots
	for key, a := range places {
		whole := a.own
		for range depthOfProbes {
			next := make(map[string]float64, len(whole))
			for method, ns := range a.own {
				next[method] = ns
			}
			changed := false
			for e, calls := range a.edges {
				if a.calls[e.callee] > 0 && whole[e.callee] > 0 {
					next[e.caller] += whole[e.callee] * calls / a.calls[e.callee]
				}
			}
			for method, ns := range next {
				changed = changed || math.Abs(ns-whole[method]) > 1e-9*ns
			}
			whole = next
			if !changed {
				break
			}
		}
		perCall[key] = map[string]float64{}
		for method, calls := range a.calls {
			both := sums[method]
			both[key.side].calls += calls
			both[key.side].ns += whole[method]
			sums[method] = both
			if calls > 0 {
				perCall[key][method] = whole[method] / calls
			}
		}
	}
	for i := range cells {
		c := &cells[i]
		side := sideOf(c.Member)
		ns := perCall[place{side, c.Slot}][c.Full]
		if both := sums[c.Full]; side == judge.Head && both[judge.Base].calls > 0 && both[judge.Head].calls > 0 {
			ns += (doubt - 1) * max(0, both[judge.Head].ns/both[judge.Head].calls-both[judge.Base].ns/both[judge.Base].calls)
		}
		ns *= c.Weight
		if !(ns > 0) || !(c.Sum > 0) {
			continue
		}
		left := max(atLeast, 1-ns/c.Sum)
		c.Sum *= left
		c.Capped *= left
		c.Log += c.Weight * math.Log(left)
	}
}
