// Package probecost subtracts the cost of probes from measured times, with its uncertainty, and reconciles the
// costs of methods with the CPU time of their processes. Stored rows keep the measured values. Every command that
// compares or sums costs uses this package, after the query.
//
// Its invariant: a correction is linear in calls, so that corrected self costs add up as measured ones do. It
// never reads rows itself, other than the SDK's own counters.
package probecost

import (
	"context"
	"math"
	"slices"

	"github.com/corehour/corehour/regression/query"
)

// Figure is a cost in ns and its standard error. The error covers differences between places in the program. It
// is not random, and is the same for all calls.
type Figure struct{ Mean, SE float64 }

// Costs are the costs of the probes of one version of a service, in ns per call.
type Costs struct {
	// Inside is the part of the probe that the measured time of its own call includes.
	Inside Figure
	// CPU is the whole probe of a call timed with its CPU, Wall that of a call timed by wall time only, and
	// Counted that of a call that was not timed. The caller's measured time includes them.
	CPU, Wall, Counted Figure
	// Wait is the cost for a measured call each time it blocks. The call keeps its thread, so the runtime moves
	// the processor to another thread and back, with system calls.
	Wait Figure
	// CountsWaits is set if the SDK reports how often calls waited.
	CountsWaits bool
}

// Known reports whether the SDK reported the cost of its probes.
func (c Costs) Known() bool { return c.CPU.Mean > 0 || c.Wall.Mean > 0 }

const (
	// These apply to SDKs that do not report probe.inside_ns. oldInside is the part of the calibrated cost that is
	// in the measured time; its standard error is as large. oldReal is the cost of a probe amid other work, and
	// oldRealError its standard error, both relative to the calibrated cost.
	oldInside, oldReal, oldRealError = 0.25, 1.3, 0.3
	// loopError is the relative standard error of a cost that was calibrated in a loop.
	loopError = 0.3
	// wholeError is the upper bound of the relative standard error of a whole probe that was measured in place.
	// The mean of many probes is precise, but the probes of one method differ from it by their place.
	wholeError = 0.5
	// insideError is the relative standard error of the part inside. It is measured by an empty call that follows
	// another one with warm caches, while calls that are rarely timed find cold ones.
	insideError = 1
	// waitError is the relative standard error of a wait. The SDK measures short sleeps; waits of real programs
	// cost 0.65 to 2 times as much, rarely 3 times (docs/adr/0031-probe-cost.md).
	waitError = 0.8
)

// costsOf returns the costs from the SDK's counters, zero if there are none.
func costsOf(stats map[string]float64) Costs {
	cpu, wall := stats["probe.cpu.cost_ns"], stats["probe.wall.cost_ns"]
	inside, known := stats["probe.inside_ns"]
	if !known || inside == 0 {
		least := max(cpu, wall)
		return Costs{
			Inside: Figure{oldInside * least, oldInside * least},
			CPU:    Figure{oldReal * cpu, oldRealError * cpu},
			Wall:   Figure{oldReal * wall, oldRealError * wall},
		}
	}
	whole := func(mean, spread float64) Figure {
		if spread > 0 {
			return Figure{mean, min(spread, wholeError*mean)}
		}
		return Figure{mean, loopError * mean}
	}
	_, countsWaits := stats["probe.wait_ns"]
	return Costs{
		Inside:  Figure{inside, insideError * inside},
		CPU:     whole(cpu, stats["probe.cpu.spread_ns"]),
		Wall:    whole(wall, stats["probe.wall.spread_ns"]),
		Counted: whole(stats["probe.counted.cost_ps"]/1000, stats["probe.counted.spread_ps"]/1000),
		Wait:    Figure{stats["probe.wait_ns"], waitError * stats["probe.wait_ns"]},

		CountsWaits: countsWaits,
	}
}

// median returns the median of each figure separately. So processes that were paused or started with cold caches
// have no extra weight.
func median(all []Costs) Costs {
	// Processes report the cost of a wait only after a call has waited.
	middle := func(ofWaits bool, part func(Costs) float64) float64 {
		values := make([]float64, 0, len(all))
		for _, c := range all {
			if c.Known() && (!ofWaits || part(c) > 0) {
				values = append(values, part(c))
			}
		}
		if len(values) == 0 {
			return 0
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	figure := func(part func(Costs) Figure) Figure {
		return Figure{
			middle(false, func(c Costs) float64 { return part(c).Mean }),
			middle(false, func(c Costs) float64 { return part(c).SE }),
		}
	}
	wait := middle(true, func(c Costs) float64 { return c.Wait.Mean })
	return Costs{
		Inside:  figure(func(c Costs) Figure { return c.Inside }),
		CPU:     figure(func(c Costs) Figure { return c.CPU }),
		Wall:    figure(func(c Costs) Figure { return c.Wall }),
		Counted: figure(func(c Costs) Figure { return c.Counted }),
		Wait:    Figure{wait, waitError * wait},

		CountsWaits: !slices.ContainsFunc(all, func(c Costs) bool { return !c.CountsWaits }),
	}
}

// Table contains the costs by service and version.
type Table struct {
	versions map[version]Costs
	services map[query.Service]Costs
}

type version struct {
	query.Service
	version string
}

// Read returns the medians over all processes with a process row in the window.
func Read(ctx context.Context, w *query.Warehouse, window query.Window, f query.Filter) (Table, error) {
	processes, err := w.ProcessStats(ctx, window, f)
	if err != nil {
		return Table{}, err
	}
	return TableOf(processes), nil
}

// TableOf returns the costs for the SDK counters of processes.
func TableOf(processes []query.ProcessStats) Table {
	t := Table{versions: map[version]Costs{}, services: map[query.Service]Costs{}}
	ofVersions, ofServices := map[version][]Costs{}, map[query.Service][]Costs{}
	for _, p := range processes {
		key, costs := version{p.Service, p.Version}, costsOf(p.Stats)
		ofVersions[key] = append(ofVersions[key], costs)
		ofServices[p.Service] = append(ofServices[p.Service], costs)
	}
	for key, all := range ofVersions {
		t.versions[key] = median(all)
	}
	for key, all := range ofServices {
		t.services[key] = median(all)
	}
	return t
}

// CostsOf returns the costs of a version. Costs that its processes did not report are those of the whole service.
func (t Table) CostsOf(s query.Service, v string) Costs {
	c := t.versions[version{s, v}]
	if !c.Known() {
		return t.services[s]
	}
	if c.Wait.Mean == 0 {
		c.Wait = t.services[s].Wait
	}
	return c
}

// Calls are the numbers of calls whose probes are included in a measured time. Own counts the measured calls
// themselves, less those of callees that were subtracted. CPU, Wall and Counted count the calls below: timed with
// CPU, timed by wall time, and not timed. Waits is how often the measured calls blocked, including their callees.
type Calls struct{ Own, CPU, Wall, Counted, Waits float64 }

// Add returns the sum of c and o.
func (c Calls) Add(o Calls) Calls {
	return Calls{c.Own + o.Own, c.CPU + o.CPU, c.Wall + o.Wall, c.Counted + o.Counted, c.Waits + o.Waits}
}

// Times returns c multiplied by x.
func (c Calls) Times(x float64) Calls {
	return Calls{c.Own * x, c.CPU * x, c.Wall * x, c.Counted * x, c.Waits * x}
}

// Total returns the cost of the probes of n, in ns.
func (c Costs) Total(n Calls) float64 {
	return n.Own*c.Inside.Mean + n.CPU*c.CPU.Mean + n.Wall*c.Wall.Mean + n.Counted*c.Counted.Mean + n.Waits*c.Wait.Mean
}

// Errors returns the standard errors of Total(n), by part of the probe. Errors of the same part are fully correlated
// and add up; different parts are independent.
func (c Costs) Errors(n Calls) Errors {
	return Errors{n.Own * c.Inside.SE, n.CPU * c.CPU.SE, n.Wall * c.Wall.SE, n.Counted * c.Counted.SE, n.Waits * c.Wait.SE}
}

// Errors are standard errors in ns, by part of the probe.
type Errors [5]float64

// Add returns the sum, part by part.
func (e Errors) Add(o Errors) Errors {
	for i := range e {
		e[i] += o[i]
	}
	return e
}

// Variance returns the variance of the sum of all parts.
func (e Errors) Variance() float64 { return e.covariance(e) }

// covariance returns the covariance with o.
func (e Errors) covariance(o Errors) (sum float64) {
	for i := range e {
		sum += e[i] * o[i]
	}
	return sum
}

// SE returns the standard error of the sum of all parts.
func (e Errors) SE() float64 { return math.Sqrt(e.Variance()) }
