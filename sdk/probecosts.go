package corehour

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/sdk/internal/hostclock"
)

const (
	// measuredOneIn is how many timed calls there are for each whose probe is measured.
	measuredOneIn = 32
	// enoughMeasured probes replace what the loop of calibrate found.
	enoughMeasured = 8
	// longestProbe is the longest time that is taken for a probe's own: where it was
	// longer the processor was taken away.
	longestProbe = 50_000 // ns
	waitMeasured = 200 * time.Microsecond
	firstWaits   = 16
	// longestWait is the longest CPU time in ns that is taken for that of a wait.
	longestWait = 200_000
)

// probeCosts are what the probe itself costs, measured in place: between the calls of the
// program, with caches and pipelines as calls find them.
//
// A timed call inside another is charged to it with all of its probe (wall, cpu). A part
// of the probe lies between the two readings of the clock and is taken for the method's
// (inside): an empty call, made where another has just ended, shows how much. Rows keep
// what was measured; readers subtract these costs.
type probeCosts struct {
	empty     *plan // nil = nothing is measured in place
	inside    costSamples
	wall, cpu probeCost
	wait      costSamples
	waited    atomic.Bool  // a timed call has, since the last wait was measured
	countedPS atomic.Int64 // of a call that is not timed, in a loop
	// outOfCache is how much longer a call is counted than in a loop by each cache line it reads.
	outOfCache costSamples
	reading    atomic.Int64 // ns of CPU that reading the thread's clock adds at least
}

// probeCost is the cost of the probe of a timed call in ns.
type probeCost struct {
	inLoop atomic.Int64
	costSamples
}

// prepare makes the empty calls possible.
func (c *probeCosts) prepare(e *engine) {
	m := calibrationMethod()
	s := settings{rate: 1, noCaller: true}
	if e.threadClock {
		s.cpuRate = 1
	}
	c.empty = newPlan(e, m, s)
	c.empty.empty, c.empty.plain = true, false
	m.located.Store(true)
	m.wallOnly = "calibration" // nothing else is to change its plan
	m.plan.Store(c.empty)
}

// measure takes a probe in that is about to end: what it took before the method began,
// what it has taken since the method's end was read, and its share of the empty call.
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

// measureWaits measures what it costs to wait with a thread of one's own, on the clock of that
// thread: the runtime gives the processor to another thread and takes it back, by system calls. A
// timed call pays for that each time it waits. It is done in seconds in which calls waited, so that
// program and host are in the state that they are in then: once, and several times at first, since
// what a wait costs varies by as much as it costs.
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

// stats returns the mean and the standard deviation, and whether there are enough.
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

// stats returns the cost in place plus the part inside of the method's time, or what the
// loop found and no spread.
func (p *probeCost) stats(inside int64) (cost, spread int64) {
	if mean, spread, enough := p.costSamples.stats(); enough {
		return mean + inside, spread
	}
	return p.inLoop.Load(), 0
}

// counted returns what a call that is only counted costs in ps: in a loop, and its two cache lines
// where that was measured in place, with the standard deviation of these.
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

// ownWork is what the SDK has done up to a cut.
type ownWork struct{ timed, withCPU, waits, packCPU int64 }

// ownCPU returns the CPU time that the SDK took since the last cut, in which so many calls were
// counted, some of them in mode Aggregate: the probes by their costs, and making requests by the clock.
// What the HTTP client and the collection of garbage take is not known.
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
