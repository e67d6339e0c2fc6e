package corehour

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/sdk/internal/processor"
)

// detail holds what a timed call needs beyond its start. Details are reused; the
// use count tells a Call that is ended twice from the next one with the same
// detail: it is odd while a call is under way.
type detail struct {
	use    atomic.Uint64
	plan   *plan
	caller *Method
	extra  *extra
	start  int64
	state  cpuState
	load   slotLoad

	slot      int // CPU slot, or noSlot
	cpuStart  int64
	goroutine uint64
}

const noSlot = -1

var details = sync.Pool{New: func() any { return &detail{slot: noSlot} }}

// time starts to time a chosen call. All that takes time (the stack, the draw,
// the trace) comes before the clocks are read, and wall time is read outside CPU
// time, so that wall >= CPU holds for every record.
func (pl *plan) time(ctx context.Context, caller *Method, stack string) Call {
	var x *extra
	if ctx != nil && pl.engine.traceContext != nil {
		x = pl.engine.traceOf(ctx)
	}
	if stack != "" {
		x = x.withStack(stack)
	}
	state := cpuNotSampled
	load := slotLoad(0)
	slot := noSlot
	if pl.cpuRate > 0 {
		load = cpuSlots.load(pl.method, &pl.engine.slots)
		if share := load.share(pl.cpuRate); share == 1 || float64(pl.engine.random()>>11)/(1<<53) < share {
			slot = pl.engine.takeSlot(pl.method)
			state = cpuExact
			if slot == noSlot {
				state = cpuUnavailable
			}
		}
	}
	var d *detail
	if slot == noSlot {
		d = details.Get().(*detail)
	} else {
		d = &cpuSlots.details[slot]
	}
	use := d.use.Load() + 1 // nobody else has this detail now
	processor.Publish(&d.use, use)
	word := int64(use)
	d.plan, d.caller, d.extra, d.state, d.load = pl, caller, x, state, load
	if slot == noSlot {
		d.start = now()
		return Call{plan: pl, word: word, detail: d}
	}
	runtime.LockOSThread()
	d.goroutine = hostclock.Goroutine()
	d.start = now()
	d.cpuStart = hostclock.ThreadCPU()
	return Call{plan: pl, word: word, detail: d}
}

func (d *detail) end(use int64, failed bool) {
	slot := d.slot
	var cpuEnd int64
	if slot != noSlot {
		cpuEnd = hostclock.ThreadCPU() // that it is the right thread's is checked after the clocks
	}
	end := now()
	if !d.use.CompareAndSwap(uint64(use), uint64(use)+1) {
		return // ended before
	}
	r := record{
		plan: d.plan, caller: d.caller, extra: d.extra,
		start: d.start, wall: end - d.start, state: d.state, load: d.load, failed: failed,
	}
	d.plan, d.extra = nil, nil
	switch {
	case slot == noSlot:
		details.Put(d)
	case d.goroutine == hostclock.Goroutine():
		r.settleCPU(cpuEnd - d.cpuStart)
		r.takeOffReadings(&r.plan.engine.counters)
		runtime.UnlockOSThread()
		cpuSlots.release(slot, r.plan.method)
	default:
		r.state = cpuUntrusted
		cpuSlots.lose(r.plan.method)
	}
	r.plan.finish(&r, true)
}

// takeOffReadings takes the readings of the clocks out of what they show. Wall time
// stays at least CPU time.
func (r *record) takeOffReadings(c *counters) {
	if r.state != cpuExact {
		return
	}
	r.wall = max(0, r.wall-c.readingWall.Load())
	r.cpu = min(max(0, r.cpu-c.reading.Load()), r.wall)
}

// settleCPU accepts a reading of the thread's CPU. The kernel's two clocks are
// disciplined apart: a thread that never waits may show up to 500 ppm more CPU
// than wall time, which is cut. More than that is no rounding.
func (r *record) settleCPU(cpu int64) {
	if cpu < 0 || cpu > r.wall+r.wall/1000+1000 {
		r.state = cpuUntrusted
		return
	}
	r.cpu = min(cpu, r.wall)
}
