// Package probecost takes what probes cost out of what they measured, with its
// uncertainty, and reconciles the costs of methods with the CPU time of their processes.
// Rows keep what was measured; every command that compares or adds up costs uses this
// package, after the query.
//
// Its invariant: a correction is linear in calls, so that corrected self costs add up as
// measured ones do. It never reads rows itself, other than the SDK's own counters.
package probecost

import (
	"context"
	"math"
	"slices"

	"github.com/corehour/corehour/regression/query"
)

// Figure is a cost in ns and its standard error. The error is that of another place in the
// program, not of chance, and is the same for all calls.
type Figure struct{ Mean, SE float64 }

// Costs are what the probes of one version of a service cost, in ns a call.
type Costs struct {
	// Inside is the part of the probe that is in the measured time of its call.
	Inside Figure
	// CPU and Wall are the whole probe of a call that was timed, with its CPU or by the wall
	// alone: its caller is charged with it. Counted is that of a call that was not timed.
	CPU, Wall, Counted Figure
	// Wait is what a measured call pays each time it gives up the processor: it keeps its thread,
	// so the runtime takes the processor to another one and back, by system calls.
	Wait Figure
	// CountsWaits: the SDK says how often calls waited.
	CountsWaits bool
}

// Known reports whether the SDK said anything of its probes.
func (c Costs) Known() bool { return c.CPU.Mean > 0 || c.Wall.Mean > 0 }

const (
	// oldInside is the part of the calibrated cost that SDKs before probe.inside_ns left in the
	// measured time, and its standard error; oldReal is what a probe costs amid other work, in
	// calibrated costs.
	oldInside, oldReal, oldRealError = 0.25, 1.3, 0.3
	// loopError is the relative standard error of a cost that was calibrated in a loop.
	loopError = 0.3
	// wholeError is the most that the relative standard error of a whole probe measured in
	// place can be: the mean of so many is known well, and what probes of one method cost
	// differs from it by where they are.
	wholeError = 0.5
	// insideError is the relative standard error of the part inside: the empty call that shows
	// it follows another with warm caches, and calls that are rarely timed find cold ones.
	insideError = 1
	// waitError is that of a wait: the SDK measures short sleeps. Waits of programs were found to
	// cost 0.65 to 2 times as much, rarely 3 (docs/adr/0031-probe-cost.md).
	waitError = 0.8
)

// costsOf reads the SDK's counters. Zero costs mean that it has no such counters.
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

// median of the figures, each part by itself: processes that were stopped or began with
// cold caches do not count more than others.
func median(all []Costs) Costs {
	// Processes measure a wait once they have waited.
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

// Table has the costs by service and version.
type Table struct {
	versions map[version]Costs
	services map[query.Service]Costs
}

type version struct {
	query.Service
	version string
}

// Read takes the medians over the processes with a process row in the window.
func Read(ctx context.Context, w *query.Warehouse, window query.Window, f query.Filter) (Table, error) {
	processes, err := w.ProcessStats(ctx, window, f)
	if err != nil {
		return Table{}, err
	}
	return TableOf(processes), nil
}

// TableOf makes the table of the SDK's counters of processes.
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

// Of returns the costs of a version; what its processes do not say, of the service.
func (t Table) Of(s query.Service, v string) Costs {
	c := t.versions[version{s, v}]
	if !c.Known() {
		return t.services[s]
	}
	if c.Wait.Mean == 0 {
		c.Wait = t.services[s].Wait
	}
	return c
}

// Calls are numbers of calls whose probes are in a time: of measured calls whose clocks are in
// it (own, less those of callees that were taken off), and of calls below that were timed
// with CPU, timed by the wall and counted only. Waits are how often the measured calls gave up the
// processor, with what they call.
type Calls struct{ Own, CPU, Wall, Counted, Waits float64 }

// Add adds up calls.
func (c Calls) Add(o Calls) Calls {
	return Calls{c.Own + o.Own, c.CPU + o.CPU, c.Wall + o.Wall, c.Counted + o.Counted, c.Waits + o.Waits}
}

// Times multiplies calls.
func (c Calls) Times(x float64) Calls {
	return Calls{c.Own * x, c.CPU * x, c.Wall * x, c.Counted * x, c.Waits * x}
}

// Of returns what the probes of these calls cost, in ns.
func (c Costs) Of(n Calls) float64 {
	return n.Own*c.Inside.Mean + n.CPU*c.CPU.Mean + n.Wall*c.Wall.Mean + n.Counted*c.Counted.Mean + n.Waits*c.Wait.Mean
}

// Errors returns the standard errors of that by what they come from. Errors of the same part
// add up; parts are independent.
func (c Costs) Errors(n Calls) Errors {
	return Errors{n.Own * c.Inside.SE, n.CPU * c.CPU.SE, n.Wall * c.Wall.SE, n.Counted * c.Counted.SE, n.Waits * c.Wait.SE}
}

// Errors are standard errors in ns by the part of the probe that they come from.
type Errors [5]float64

// Add adds errors of the same parts.
func (e Errors) Add(o Errors) Errors {
	for i := range e {
		e[i] += o[i]
	}
	return e
}

// Variance of their sum.
func (e Errors) Variance() float64 { return e.With(e) }

// With returns the covariance with other errors.
func (e Errors) With(o Errors) (sum float64) {
	for i := range e {
		sum += e[i] * o[i]
	}
	return sum
}

// SE returns the standard error of their sum.
func (e Errors) SE() float64 { return math.Sqrt(e.Variance()) }
