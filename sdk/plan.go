package corehour

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/frames"
	"github.com/corehour/corehour/sdk/internal/spans"
)

// plan is what a method's probe does. It never changes: another rate
// is another plan, so a call is stamped with the very rate its gap was drawn from.
type plan struct {
	number int64                          // plans are numbered as they are made
	mark   atomic.Int64                   // of the first counter: the count at which a call is chosen; 0 = not drawn yet
	marks  atomic.Pointer[[]atomic.Int64] // of the shards

	method *Method
	engine any // an *engine: a package that has probes would compile all generic code that it is made of
	settings
	walked    bool    // the caller is searched by frame pointers
	fast      bool    // most calls need nothing but to be counted
	plain     bool    // a chosen call needs nothing but two readings of the clock
	logRest   float64 // ln(1 - rate)
	seed      uint64  // of its gaps
	threshold spans.Threshold
	head      []byte // what its measurements have in common, encoded by the sender

	aggregate []aggregateShard // mode Aggregate only, one per counter

	empty bool // its calls are empty ones, made to measure the probe

	tailFrom int64        // wall time from which a call is kept; with a tail only
	above    atomic.Int64 // calls kept for it
	longest  atomic.Int64 // wall time among those that were not
}

// settings are those of a method, from all sources.
type settings struct {
	mode     Mode
	rate     float64
	asked    float64 // the default that the budget may have made a lower rate of; 0 = the rate is the method's own
	cpuRate  float64
	noCaller bool
	tail     bool
	stack    bool // never with noCaller or mode Aggregate
	lazy     bool // the method is off until a caller runs
}

// plans counts them.
var plans atomic.Int64

func newPlan(e *engine, m *Method, s settings) *plan {
	pl := &plan{
		number:    plans.Add(1),
		method:    m,
		engine:    e,
		settings:  s,
		plain:     s.mode == Sample && s.noCaller && s.cpuRate == 0 && e.traceContext == nil && !s.tail,
		walked:    e.walkable && !s.stack,
		tailFrom:  m.tailFrom,
		logRest:   math.Log1p(-s.rate),
		seed:      e.random(),
		threshold: spans.ThresholdOf(s.rate),
	}
	if m.shards.Load() != nil {
		pl.shardMarks()
	}
	pl.fast = s.mode == Sample && !s.tail && s.rate < 1
	if s.mode == Aggregate {
		pl.aggregate = make([]aggregateShard, m.counterCount())
		pl.openShards(minuteOf(e.unix(now())), true)
	}
	return pl
}

// engineOf is no method: those are read where a package has probes.
func engineOf(pl *plan) *engine { return pl.engine.(*engine) }

// begin counts the call and decides whether it is timed. A counter only grows;
// the call that reaches the drawn count is chosen.
//
// The clock is read here, since returning from functions that lie elsewhere takes time: in some
// builds 100 ns where calls are seldom timed, after the system calls of reading the CPU.
//
//go:noinline
func (m *Method) begin(ctx context.Context, pl *plan) Call {
	var here byte
	counter, i := m.counter(uintptr(unsafe.Pointer(&here)))
	// Both are read before the count, which nothing overtakes in the processor. Where the plan is the
	// same after it, next was that of the plan.
	owner, next := counter.plan.Load(), counter.next.Load()
	n := counter.n.Add(1)
	if owner != pl || counter.plan.Load() != pl {
		next = notOurs
	} else if n < next {
		return Call{}
	}
	c := pl.reached(ctx, counter, i, n, next)
	if d := c.detail; d != nil {
		d.start = now()
	}
	return c
}

// notOurs stands for the next of a counter that has another plan.
const notOurs = math.MinInt64

// reached handles a call that may be chosen: its count has been reached, or the
// rate is 1, or every call is timed. The stack is read here because each frame
// more costs as much as a reading of the clock, and so does each step into the
// frame's code: this function stays small.
func (pl *plan) reached(ctx context.Context, c *callCounter, i uint, n, next int64) Call {
	if c.plan.Load() == timing {
		if c, n, next = pl.timeCount(i); n < next {
			return Call{}
		}
	}
	if !pl.method.located.Load() {
		pl.method.locate()
	}
	chosen := pl.rate == 1 || pl.claim(c, i, n, next)
	if pl.plain && chosen || !chosen && (pl.mode == Aggregate || pl.tail) {
		return Call{plan: pl, word: now()}
	}
	if !chosen {
		return Call{}
	}
	var reached int64
	if pl.cpuRate > 0 && n%measuredOneIn == 0 && !pl.empty {
		reached = now() // this call's probe is measured
	}
	if pl.noCaller {
		return pl.time(ctx, nil, "", reached)
	}
	var pcs [callers.Near]uintptr
	if pl.walked {
		n, ended := frames.Walk(&pcs[0], len(pcs))
		return pl.timeWalked(ctx, pcs[:n], ended, reached)
	}
	return pl.timeCalled(ctx, pcs[:runtime.Callers(framesToCaller, pcs[:])], reached)
}

// timeWalked times a chosen call whose stack, walked by its frame pointers, begins with
// these frames: that of begin, then the one that Begin is inlined into.
//
//go:noinline
func (pl *plan) timeWalked(ctx context.Context, pcs []uintptr, ended bool, reached int64) Call {
	if pcs = pcs[min(1, len(pcs)):]; len(pcs) > 0 {
		if caller, found := pl.method.owner.Cached(pcs, ended); found {
			return pl.time(ctx, caller, "", reached)
		}
	}
	return pl.time(ctx, pl.method.owner.Find(pcs, ended), "", reached)
}

// timeCalled times a chosen call whose stack begins with these frames.
//
//go:noinline
func (pl *plan) timeCalled(ctx context.Context, pcs []uintptr, reached int64) Call {
	if pl.stack {
		return pl.timeStacked(ctx, pcs, reached)
	}
	caller, far := pl.method.owner.Among(pcs, callers.Near)
	if far {
		var pcs [callers.Far]uintptr
		caller = callers.AmongFar(pcs[:runtime.Callers(framesToCaller+1+callers.Near, pcs[:])])
	}
	return pl.time(ctx, caller, "", reached)
}

// framesToCaller is how many frames reached sees from runtime.Callers to the
// method: Callers, reached, begin, and Begin, which is inlined into the method
// but has a frame of its own all the same.
const framesToCaller = 4

// timeStacked times a chosen call that carries its stack, which begins with these
// frames.
//
//go:noinline
func (pl *plan) timeStacked(ctx context.Context, near []uintptr, reached int64) Call {
	var pcs [callers.StackFrames]uintptr
	n := copy(pcs[:], near)
	if n == callers.Near {
		n += runtime.Callers(framesToCaller+2+callers.Near, pcs[n:])
	}
	caller, stack := pl.method.owner.Stack(pcs[:n])
	return pl.time(ctx, caller, stack, reached)
}

// claim decides for the call with number n on a counter, the i-th shard or the first. The gap to the
// next chosen call is drawn once and counted down, which is exactly a draw per call. Counting on
// from the old mark, not from n, keeps the law when calls overtake each other: every
// mark is claimed once. The counter learns from which count on the next call is to come here.
func (pl *plan) claim(c *callCounter, i uint, n, next int64) bool {
	at := &pl.mark
	if c == &pl.method.first {
		i = 0
	} else {
		at = &pl.shardMarks()[i]
		i++
	}
	chosen := false
	mark := at.Load()
	for ; !chosen && n >= mark; mark = at.Load() {
		if mark == 0 { // the first call under this plan draws for itself
			at.CompareAndSwap(0, later(n-1, pl.gap(pl.draw(i, 0))))
		} else {
			chosen = at.CompareAndSwap(mark, later(mark, pl.gap(pl.draw(i, mark))))
		}
	}
	switch {
	case !pl.fast:
	case next == notOurs:
		c.takeOver(pl)
	case chosen && n%measuredOneIn == 0:
		c.next.CompareAndSwap(next, min(mark, n+undisturbed))
	default:
		if c.next.CompareAndSwap(next, mark) && next > 0 && n < mark {
			pl.method.timeNextCount()
		}
	}
	return chosen
}

// shardMarks returns the marks of the shards. They are made with the plan or the shards, so that no call
// has to: but for one with a plan that was replaced at that moment.
func (pl *plan) shardMarks() []atomic.Int64 {
	if pl.marks.Load() == nil {
		marks := make([]atomic.Int64, len(*pl.method.shards.Load()))
		pl.marks.CompareAndSwap(nil, &marks)
	}
	return *pl.marks.Load()
}

// draw returns the random number that belongs to a mark of a counter: the plan's seed and
// their numbers, mixed by the finalizer of splitmix64. A counter passes each mark once,
// so none comes twice; and a source that keeps a state, such as the runtime's, would be
// out of the processor's caches by the next chosen call and cost a microsecond.
func (pl *plan) draw(i uint, mark int64) uint64 {
	const goldenRatio, plasticRatio = 0x9E3779B97F4A7C15, 0xC13FA9A902A6328F
	x := pl.seed + uint64(mark)*goldenRatio + uint64(i)*plasticRatio
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const never = math.MaxInt64

func later(mark, gap int64) int64 {
	if gap > never-mark {
		return never
	}
	return mark + gap
}

// gap returns the number of calls up to and including the next chosen one for a random
// number, by inversion of the geometric law.
func (pl *plan) gap(random uint64) int64 {
	if pl.rate == 0 {
		return never
	}
	uniform := float64(random>>11+1) / (1 << 53) // in (0, 1]
	g := 1 + math.Floor(math.Log(uniform)/pl.logRest)
	if g >= never {
		return never
	}
	return int64(g)
}
