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

// plan is the immutable configuration of a method's probe. Another rate is another plan, so a call
// carries exactly the rate that its gap was drawn from.
type plan struct {
	number int64                          // plans are numbered in order of creation
	mark   atomic.Int64                   // count on the first counter at which a call is chosen; 0 = not drawn yet
	marks  atomic.Pointer[[]atomic.Int64] // the same for the shards

	method *Method
	engine any // an *engine: with that type, packages with probes would compile all of its generic code
	settings
	walked    bool    // the caller is found by frame pointers
	fast      bool    // most calls only need to be counted
	plain     bool    // a chosen call only needs two clock readings
	logRest   float64 // ln(1 - rate)
	seed      uint64  // for its gaps
	threshold spans.Threshold
	head      []byte // encoded attributes of all its measurements, set by the sender

	aggregate []aggregateShard // mode Aggregate only, one per counter

	empty bool // its calls are empty: they measure the probe

	tailFrom int64        // wall time from which a call is kept; with a tail only
	above    atomic.Int64 // calls kept because they reached tailFrom
	longest  atomic.Int64 // longest wall time of the other calls
}

// settings are the settings of a method, combined from all sources.
type settings struct {
	mode     Mode
	rate     float64
	asked    float64 // default rate before the budget lowered it; 0 = the rate is the method's own
	cpuRate  float64
	noCaller bool
	tail     bool
	stack    bool // never with noCaller or mode Aggregate
	lazy     bool // the method is off until a caller runs
}

// plans is the number of plans created.
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

// engineOf is a function because packages with probes compile the methods of plan.
func engineOf(pl *plan) *engine { return pl.engine.(*engine) }

// begin counts the call and decides whether it is timed: the call that reaches the drawn count is
// chosen. A counter only grows.
//
// The clock is read here, because returning from functions elsewhere takes time: in some builds 100
// ns for calls that are seldom timed, after the system calls that read the CPU.
//
//go:noinline
func (m *Method) begin(ctx context.Context, pl *plan) Call {
	var here byte
	counter, i := m.counter(uintptr(unsafe.Pointer(&here)))
	// Both are read before the count is increased, which the processor does not reorder. If the
	// plan is unchanged afterwards, next belonged to that plan.
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

// notOurs replaces the next of a counter that has another plan.
const notOurs = math.MinInt64

// reached handles a call that may be chosen: its count has been reached, the rate is 1, or every
// call is timed. The stack is read here, because each further frame costs as much as a clock
// reading, and so does each step into the frame's code. This function stays small for that reason.
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
		reached = now() // the probe of this call is measured
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

// timeWalked times a chosen call. Its stack, walked by frame pointers, begins with the frame of
// begin, then the function that Begin is inlined into.
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

// framesToCaller is the number of frames from runtime.Callers in reached to the method: Callers,
// reached, begin, and Begin, which is inlined into the method but has a frame of its own.
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

// claim decides for call number n on a counter, the i-th shard or the first. The gap to the next
// chosen call is drawn once and counted down, which is equivalent to a draw per call. The next mark
// is counted from the old mark, not from n, so the distribution holds when calls overtake each
// other: every mark is claimed once. claim also sets the count at which the next call comes here.
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
		if mark == 0 { // the first call under this plan draws its own mark
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

// shardMarks returns the marks of the shards. They are allocated with the plan or the shards, so
// calls need not, except one whose plan is replaced at that moment.
func (pl *plan) shardMarks() []atomic.Int64 {
	if pl.marks.Load() == nil {
		marks := make([]atomic.Int64, len(*pl.method.shards.Load()))
		pl.marks.CompareAndSwap(nil, &marks)
	}
	return *pl.marks.Load()
}

// draw returns the random number of a mark of a counter: the plan's seed, shard and mark, mixed by
// the finalizer of splitmix64. A counter passes each mark once, so no number repeats. A stateful
// source, such as the runtime's, would be out of the caches by the next chosen call and cost a
// microsecond.
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

// gap returns the number of calls up to and including the next chosen one for a random number, by
// inversion of the geometric distribution.
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
