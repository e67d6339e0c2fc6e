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

// detail holds the data of a timed call beyond its start time. Details are reused. The use count
// distinguishes a Call that is ended twice from the next one with the same detail: it is odd while
// a call is in flight.
type detail struct {
	use     atomic.Uint64
	plan    *plan
	caller  *callers.Owner
	extra   *extra
	start   int64
	reached int64 // time at which the probe began to choose the call, 0 = unknown
	first   int64 // time of the first clock reading, if the CPU is timed
	state   cpuState
	load    cpuslots.Load

	slot      int // of the CPU, or cpuslots.None
	cpuStart  int64
	waits     int64 // of the thread when the call began, or waitsUnread
	goroutine uint64
}

const (
	// waitsUnread means that waits are not counted, which methods that never waited need not pay for.
	waitsUnread = -1
	// wait is the excess of wall over CPU time in ns from which a call counts as having waited.
	wait = 2_000
)

// rehearsal is the use count of an end that only reads the clock.
const rehearsal = -1

var (
	details     = sync.Pool{New: func() any { return new(detail) }}
	slotDetails [cpuslots.Most]detail // details of calls that hold a slot
	// cpuSlots belongs to the program, not to the engine: threads locked before a restart are
	// still locked after it.
	cpuSlots cpuslots.Table[Method]
)

// time prepares to time a chosen call; begin reads its start afterwards. Slow work (stack, draw,
// trace) happens before the clocks are read.
//
// The thread's clock is read outside of the wall time. It is a system call that updates the
// scheduler's account: a used-up time slice ends at its return, which would be part of the wall
// time. The wall clock is read once before it, and after it by the code that will end the call and
// by this function, so that all of that code is in the caches for the readings that count. See
// docs/adr/0031-probe-cost.md.
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
		d.start = now() // brings begin's reading into the caches
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
		cpuEnd = hostclock.ThreadCPU() // the check for the right thread follows after the clocks
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

// settleCPU sets the CPU time of the record to the smaller of its wall time and the CPU reading
// less the least excess ever seen for reading the clocks. The CPU is read outside of the wall time,
// so both are upper bounds of the call's CPU time, and wall >= CPU holds for every record.
//
// A CPU time that exceeds wall time by more than clock drift (500 ppm) and cold caches explain is
// untrusted.
//
// cold means that the processor was taken away just before the call, because the probe's system
// call ended the time slice. The caches then belong to another program, and the CPU time of a short
// call is unavailable. The last accepted CPU time of the method decides whether it is short, so no
// call is excluded for its own length. That time doubles with each exclusion, so some calls are
// accepted even if the processor is always taken away.
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
