package corehour

import (
	"context"

	"github.com/corehour/corehour/sdk/internal/hostclock"
)

// Call is a call that has begun. End it once, best by defer: a panic or a Goexit
// that passes a Call whose CPU is timed leaves its goroutine locked to a thread.
//
// What a second End does: nothing to the count, which Begin made; nothing at all to
// a call that was chosen to have its caller, stack, CPU or trace recorded. A call
// timed by the wall alone is measured twice: with NoCaller and CPURate(0), and those
// that are timed without being chosen, with Tail and in mode Aggregate. To tell
// would need memory that both Ends see, which costs more than the probe.
type Call struct {
	plan   *plan
	word   int64 // when it began; with a detail, the detail's use this call is
	detail *detail
}

// Begin counts a call of the method and, if it is chosen, starts to time it.
func (m *Method) Begin() Call {
	if pl := m.plan.Load(); pl != nil {
		return m.begin(nil, pl) //nolint:staticcheck // nil says that there is none, and costs nothing
	}
	return Call{}
}

// BeginContext is Begin for a method that has a context: a chosen call carries
// the trace ids found in it. The context is read for chosen calls only.
func (m *Method) BeginContext(ctx context.Context) Call {
	if pl := m.plan.Load(); pl != nil {
		return m.begin(ctx, pl)
	}
	return Call{}
}

// End ends the call.
func (c Call) End() {
	if c.plan != nil {
		c.end(false)
	}
}

// EndError ends the call and marks it as failed if *err is not nil then:
//
//	defer m.Begin().EndError(&err)
func (c Call) EndError(err *error) {
	if c.plan != nil {
		c.end(err != nil && *err != nil)
	}
}

func now() int64 { return hostclock.Now() }

//go:noinline
func (c Call) end(failed bool) {
	if c.detail != nil {
		c.detail.end(c.word, failed)
		return
	}
	wall := now() - c.word
	pl := c.plan
	switch {
	case pl.mode == Aggregate:
		if pl.addWall(c.word, wall, failed) {
			return
		}
	case pl.plain:
		e := engineOf(pl)
		if p, at := e.ring.Claim(); p != nil {
			r := &p.Record
			r.plan, r.start, r.wall, r.failed = pl, c.word, wall, failed
			e.publish(p, at)
			return
		}
	}
	pl.finish(&record{plan: pl, start: c.word, wall: wall, failed: failed}, pl.plain)
}

// finish hands a finished call on. A call that was not chosen is timed only for a
// tail or for mode Aggregate.
func (pl *plan) finish(r *record, chosen bool) {
	switch {
	case pl.empty:
		engineOf(pl).probe.inside.addSample(r.wall)
	case pl.mode == Aggregate:
		pl.addAggregate(r)
	case !pl.tail || pl.keepTail(r, chosen):
		engineOf(pl).offer(r)
	}
}
