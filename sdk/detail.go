package corehour

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/cpuslots"
	"github.com/corehour/corehour/sdk/internal/hostclock"
)

// detail holds what a timed call needs beyond its start. Details are reused; the
// use count tells a Call that is ended twice from the next one with the same
// detail: it is odd while a call is in flight.
type detail struct {
	use     atomic.Uint64
	plan    *plan
	caller  *callers.Owner
	extra   *extra
	start   int64
	reached int64 // when the probe began to choose the call, 0 = not known
	first   int64 // when it began to read clocks, if the CPU is timed
	state   cpuState
	load    cpuslots.Load

	slot      int // of the CPU, or cpuslots.None
	cpuStart  int64
	waits     int64 // of the thread when the call began, or waitsUnread
	goroutine uint64
}

const (
	// waitsUnread is of methods that have not waited yet, so that others need not pay for it.
	waitsUnread = -1
	// wait is how much longer than its CPU time a call takes in ns that has waited.
	wait = 2_000
)

// rehearsal is the use of an end that only reads the clock.
const rehearsal = -1

var (
	details     = sync.Pool{New: func() any { return new(detail) }}
	slotDetails [cpuslots.Most]detail // of calls that hold a slot
	// cpuSlots belongs to the program, not to what Start made: threads locked before
	// a restart are still locked after it.
	cpuSlots cpuslots.Table[Method]
)

// time prepares to time a chosen call: begin reads when it starts. All that takes time (the
// stack, the draw, the trace) comes before the clocks are read.
//
// The thread's clock is read outside of the wall clock. It is a system call that brings
// the scheduler's account up to date: a time slice that is used up ends at its return,
// which would be in the wall time. The wall clock is read once before it, and after it by the
// code that will end the call and here, so that all are in the processor's caches when
// they count. See docs/adr/0031-probe-cost.md.
func (pl *plan) time(ctx context.Context, caller *callers.Owner, stack string, reached int64) Call {
	e := engineOf(pl)
	var x *extra
	if ctx != nil && e.traceContext != nil {
		x = e.traceOf(ctx)
	}
	if stack != "" {
		x = x.withStack(stack)
	}
	state := cpuNotSampled
	load := cpuslots.Load(0)
	slot := cpuslots.None
	if pl.cpuRate > 0 {
		load = cpuSlots.Load(&pl.method.cpu, &e.slots)
		if share := load.Share(pl.cpuRate); share == 1 || float64(e.random()>>11)/(1<<53) < share {
			slot = cpuSlots.Take(pl.method, &pl.method.cpu, &e.slots, &e.counters.slotRefusals)
			state = cpuExact
			if slot == cpuslots.None {
				state = cpuUnavailable
			}
		}
	}
	var d *detail
	if slot == cpuslots.None {
		d = details.Get().(*detail)
	} else {
		d = &slotDetails[slot]
	}
	use := d.use.Load() + 1 // nobody else has this detail now
	d.use.Store(use)
	word := int64(use)
	d.plan, d.caller, d.extra, d.reached, d.state, d.load, d.slot = pl, caller, x, reached, state, load, slot
	if slot != cpuslots.None {
		runtime.LockOSThread()
		d.goroutine = hostclock.Goroutine()
		d.waits = waitsUnread
		if m := pl.method; m.waits.Load() || m.lastCPU.Load() == 0 {
			d.waits = hostclock.ThreadWaits()
		}
		d.first = now()
		d.cpuStart = hostclock.ThreadCPU()
		Call{detail: d, word: rehearsal}.end(false)
		d.start = now() // warms what begin does next
	}
	return Call{plan: pl, word: word, detail: d}
}

func (d *detail) end(use int64, failed bool) {
	end := now()
	if use == rehearsal {
		return
	}
	slot := d.slot
	var cpuEnd int64
	if slot != cpuslots.None {
		cpuEnd = hostclock.ThreadCPU() // that it is the right thread's is checked after the clocks
	}
	if !d.use.CompareAndSwap(uint64(use), uint64(use)+1) {
		return // ended before
	}
	r := record{
		plan: d.plan, caller: d.caller, extra: d.extra,
		start: d.start, wall: end - d.start, state: d.state, load: d.load, failed: failed,
	}
	before, cold := int64(0), d.start-d.first > longestProbe // the processor was taken away just before
	if d.reached > 0 {
		before = d.start - d.reached
	}
	d.plan, d.extra = nil, nil
	probe := &engineOf(r.plan).probe
	switch {
	case slot == cpuslots.None:
		details.Put(d)
	case d.goroutine == hostclock.Goroutine():
		if d.waits != waitsUnread {
			r.waits = uint32(min(hostclock.ThreadWaits()-d.waits, math.MaxUint32))
			if r.waits > 0 && !probe.waited.Load() {
				probe.waited.Store(true)
			}
		}
		r.settleCPU(cpuEnd-d.cpuStart, probe.reading.Load(), cold)
		runtime.UnlockOSThread()
		cpuSlots.Release(slot, &r.plan.method.cpu)
	default:
		r.state = cpuUntrusted
		cpuSlots.Lose(&r.plan.method.cpu)
	}
	r.plan.finish(&r, true)
	if before > 0 {
		probe.measure(r.state, before, end)
	}
}

// settleCPU accepts a reading of the thread's CPU, from which the least that reading the
// clocks was ever seen to add is taken off. It is read outside of the wall time, so both
// are at least the CPU time of the call, and the lower one is nearer to it: wall >= CPU
// holds for every record. Of a call that did not wait the CPU time is its wall time.
//
// CPU that exceeds wall time by more than the kernel's clocks drift apart (500 ppm) and
// cold caches cost comes from clocks that are not to be trusted.
//
// Where the processor was taken away just before the call, its caches are those of another
// program, which is the probe's doing: it asked the scheduler. The CPU time of a short
// call is not its own then. What decides is the last that was accepted, so that no call is
// left out for its own length; it counts double each time, so that where the processor is
// always taken away some are accepted.
func (r *record) settleCPU(cpu, reading int64, cold bool) {
	const caches = 50_000 // ns
	if cpu < 0 || cpu > r.wall+r.wall/1000+caches {
		r.state = cpuUntrusted
		return
	}
	last := &r.plan.method.lastCPU
	if before := last.Load(); cold && before > 0 && before < shortCall {
		last.Store(2 * before)
		r.state = cpuUnavailable
		return
	}
	r.cpu = min(max(0, cpu-reading), r.wall)
	if m := r.plan.method; r.wall-r.cpu > wait && !m.waits.Load() {
		m.waits.Store(true)
	}
	last.Store(max(1, r.cpu))
}

// shortCall is the CPU time in ns below which cold caches are more than 5% of a call.
const shortCall = 20_000
