package corehour

import (
	"context"

	"github.com/corehour/corehour/sdk/internal/hostclock"
)

// Call is a call that has begun. End it once, preferably by defer: a panic or Goexit that skips
// the End of a Call with timed CPU leaves its goroutine locked to a thread.
//
// A second End never changes the count, which Begin made. It has no effect on a call whose caller,
// stack, CPU or trace is recorded. It measures a call twice that is timed by the wall alone: with
// NoCaller and CPURate(0), and unchosen calls with Tail or in mode Aggregate. Detecting that would
// need memory shared by both Ends, which costs more than the probe.
type Call struct {
	plan   *plan
	word   int64 // start time; with a detail, the detail's use count during this call
	detail *detail
}

// Begin counts a call of the method and, if it is chosen, starts to time it.
func (m *Method) Begin() Call {
	if pl := m.plan.Load(); pl != nil {
		return m.begin(nil, pl) //nolint:staticcheck // nil means "no context", and costs nothing
	}
	return Call{}
}

// BeginContext is Begin for a method with a context: a chosen call records the trace ids of ctx.
// ctx is read for chosen calls only.
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

// EndError ends the call, and marks it as failed if *err is not nil at that time:
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

// finish passes a finished call to the queue or the aggregates. A call that was not chosen is
// timed only for a tail sample or in mode Aggregate.
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
