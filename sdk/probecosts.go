package corehour

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/sdk/internal/hostclock"
)

const (
	// measuredOneIn: the probe of one in so many timed calls is measured.
	measuredOneIn = 32
	// enoughMeasured probes replace the result of calibrate's loop.
	enoughMeasured = 8
	// longestProbe is the longest plausible time of a probe. A longer time means that the processor
	// was taken away.
	longestProbe = 50_000 // ns
	waitMeasured = 200 * time.Microsecond
	firstWaits   = 16
	// longestWait is the longest plausible CPU time of a wait in ns.
	longestWait = 200_000
)

// probeCosts holds the cost of the probe itself, measured in place: between the calls of the program,
// with its state of caches and pipelines.
//
// A timed call inside another one charges its whole probe (wall, cpu) to the outer call. A part of the
// probe lies between the two clock readings and is counted as the method's (inside): an empty call
// right after another one measures it. Rows keep the measured values; readers subtract these costs.
type probeCosts struct {
	empty     *plan // nil = nothing is measured in place
	inside    costSamples
	wall, cpu probeCost
	wait      costSamples
	waited    atomic.Bool  // a timed call waited since the last measurement of a wait
	countedPS atomic.Int64 // cost of a call that is not timed, in a loop
	// outOfCache is the additional time of counting a call, per cache line that it reads, compared
	// with a loop.
	outOfCache costSamples
	reading    atomic.Int64 // least CPU time in ns that reading the thread's clock adds
}

// probeCost is the cost of the probe of a timed call in ns.
type probeCost struct {
	inLoop atomic.Int64
	costSamples
}

// prepare creates the method of the empty calls.
func (c *probeCosts) prepare(e *engine) {
	m := calibrationMethod()
	s := settings{rate: 1, noCaller: true}
	if e.threadClock {
		s.cpuRate = 1
	}
	c.empty = newPlan(e, m, s)
	c.empty.empty, c.empty.plain = true, false
	m.located.Store(true)
	m.wallOnly = "calibration" // so that nothing else changes its plan
	m.plan.Store(c.empty)
}

// measure records the cost of a probe that is about to end: the time before the method began, the
// time since the method's end was read, and its share of the empty call.
func (c *probeCosts) measure(state cpuState, before, end int64) {
	if c.empty == nil {
		return
	}
	ended := now()
	c.empty.method.Begin().End()
	cost := before + ended - end + (now()-ended)/measuredOneIn
	if state == cpuNotSampled {
		c.wall.addSample(cost)
	} else {
		c.cpu.addSample(cost)
	}
}

// measureWaits measures the cost of a wait on a locked thread, by the clock of that thread: the
// runtime gives the processor to another thread and takes it back, by system calls. A timed call pays
// that cost with each wait. It is measured only in seconds in which calls waited, so that program and
// host are in the same state: once, and several times at first, because the cost of a wait varies by
// as much as itself.
func (c *probeCosts) measureWaits() {
	if !c.waited.Swap(false) {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range firstWaits {
		waits, cpu := hostclock.ThreadWaits(), hostclock.ThreadCPU()
		time.Sleep(waitMeasured)
		cpu = hostclock.ThreadCPU() - cpu
		if hostclock.ThreadWaits()-waits == 1 {
			c.wait.addAny(min(cpu, longestWait))
		}
		if c.wait.n.Load() >= firstWaits {
			return
		}
	}
}

// costSamples sums up measured times in ns.
type costSamples struct{ n, sum, squares atomic.Int64 }

func (g *costSamples) addSample(ns int64) {
	if ns >= 0 && ns <= longestProbe {
		g.addAny(ns)
	}
}

func (g *costSamples) addAny(ns int64) {
	g.sum.Add(ns)
	g.squares.Add(ns * ns)
	g.n.Add(1)
}

// stats returns the mean and the standard deviation, and reports whether there are enough samples.
func (g *costSamples) stats() (mean, spread int64, enough bool) {
	m, deviation, enough := g.moments()
	return int64(math.Round(m)), int64(math.Ceil(deviation)), enough
}

func (g *costSamples) moments() (mean, deviation float64, enough bool) {
	n := float64(g.n.Load())
	if n < enoughMeasured {
		return 0, 0, false
	}
	mean = float64(g.sum.Load()) / n
	return mean, math.Sqrt(max(0, float64(g.squares.Load())/n-mean*mean)), true
}

// stats returns the cost in place plus the part inside of the method's time, or the loop's cost and
// no spread.
func (p *probeCost) stats(inside int64) (cost, spread int64) {
	if mean, spread, enough := p.costSamples.stats(); enough {
		return mean + inside, spread
	}
	return p.inLoop.Load(), 0
}

// counted returns the cost in ps of a call that is only counted: its cost in a loop, plus its two
// cache lines where they were measured in place, with their standard deviation.
func (c *probeCosts) counted() (ps, spread int64) {
	const lines = 2
	mean, deviation, _ := c.outOfCache.moments()
	return c.countedPS.Load() + int64(lines*1000*max(0, mean)), int64(lines * 1000 * deviation)
}

func (c *probeCosts) snapshot(s *Snapshot) {
	s.ProbeInsideNS, s.ProbeInsideSpreadNS, _ = c.inside.stats()
	s.WallProbeNS, s.WallProbeSpreadNS = c.wall.stats(s.ProbeInsideNS)
	s.CPUProbeNS, s.CPUProbeSpreadNS = c.cpu.stats(s.ProbeInsideNS)
	s.WaitNS, s.WaitSpreadNS, _ = c.wait.stats()
	s.CountedProbePS, s.CountedProbeSpreadPS = c.counted()
}

// ownWork is the SDK's own work up to a cut.
type ownWork struct{ timed, withCPU, waits, packCPU int64 }

// ownCPU returns the CPU time of the SDK since the last cut, given the numbers of counted calls and
// of those in mode Aggregate: the probes by their costs, and building requests by the clock. It does
// not include the HTTP client and garbage collection, which are unknown.
func (e *engine) ownCPU(calls, aggregated int64) int64 {
	var s Snapshot
	e.probe.snapshot(&s)
	c := &e.counters
	done := ownWork{withCPU: c.states[cpuExact].Load() + c.states[cpuUntrusted].Load(), waits: c.waits.Load(), packCPU: c.packCPU.Load()}
	done.timed = done.withCPU + c.states[cpuNotSampled].Load() + c.states[cpuUnavailable].Load()
	timed, withCPU := done.timed-e.lastOwn.timed, done.withCPU-e.lastOwn.withCPU
	ns := withCPU*s.CPUProbeNS + (done.waits-e.lastOwn.waits)*s.WaitNS + (timed-withCPU+aggregated)*s.WallProbeNS +
		max(0, calls-timed-aggregated)*s.CountedProbePS/1000 + done.packCPU - e.lastOwn.packCPU
	e.lastOwn = done
	return ns
}
