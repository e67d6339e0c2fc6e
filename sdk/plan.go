package corehour

import (
	"context"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/corehour/corehour/sdk/internal/frames"
)

// plan is what a method's probe does. It never changes: another rate
// is another plan, so a call is stamped with the very rate its gap was drawn from.
type plan struct {
	calls []callCounter  // the method's counters, a power of two of them
	next  []atomic.Int64 // per counter: the count from which a call leaves the fast path
	marks []atomic.Int64 // per counter: the count at which a call is chosen; 0 = not drawn yet

	method *Method
	engine any // an *engine: a package that has probes would compile all generic code that it is made of
	settings
	walked    bool    // the caller is searched by frame pointers
	plain     bool    // a chosen call needs nothing but two readings of the clock
	logRest   float64 // ln(1 - rate)
	seed      uint64  // of its gaps
	threshold uint64  // rejection threshold of the rate, of 2^56
	th        string  // the same as a th value of W3C trace state
	head      []byte  // what its measurements have in common, encoded by the sender

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

func newPlan(e *engine, m *Method, s settings) *plan {
	counters := *m.calls.Load()
	pl := &plan{
		calls:     counters,
		next:      make([]atomic.Int64, len(counters)),
		method:    m,
		engine:    e,
		settings:  s,
		plain:     s.mode == Sample && s.noCaller && s.cpuRate == 0 && e.traceContext == nil && !s.tail,
		walked:    e.walkable && !s.stack,
		tailFrom:  m.tailFrom,
		logRest:   math.Log1p(-s.rate),
		seed:      e.random(),
		threshold: rejectionThreshold(s.rate),
	}
	pl.th = thresholdText(pl.threshold)
	pl.marks = pl.next
	if s.mode == Aggregate || s.tail { // every call leaves the fast path
		pl.marks = make([]atomic.Int64, len(counters))
	}
	if s.mode == Aggregate {
		pl.aggregate = make([]aggregateShard, len(counters))
		pl.openShards(minuteOf(e.unix(now())), true)
	}
	return pl
}

// engineOf is no method: those are read where a package has probes.
func engineOf(pl *plan) *engine { return pl.engine.(*engine) }

// begin counts the call and decides whether it is timed. A counter only grows;
// the call that reaches the drawn count is chosen. Which counter is used depends on
// where the goroutine's stack lies, so that goroutines seldom share a line. A
// goroutine whose stack moves only changes the counter.
//
// The clock is read here, since returning from functions that lie elsewhere takes time: in some
// builds 100 ns where calls are seldom timed, after the system calls of reading the CPU.
//
//go:noinline
func (pl *plan) begin(ctx context.Context) Call {
	var here byte
	i := shardOf(uintptr(unsafe.Pointer(&here))) & uint(len(pl.calls)-1)
	next := pl.next[i].Load() // before the count, which nothing overtakes in the processor
	n := pl.calls[i].n.Add(1)
	if n < next {
		return Call{}
	}
	c := pl.reached(ctx, i, n)
	if d := c.detail; d != nil {
		d.start = now()
	}
	return c
}

func shardOf(stack uintptr) uint {
	const goldenRatio = 0x9E3779B97F4A7C15
	return uint(uint64(stack>>11) * goldenRatio >> 40)
}

// reached handles a call that may be chosen: its count has been reached, or the
// rate is 1, or every call is timed. The stack is read here because each frame
// more costs as much as a reading of the clock, and so does each step into the
// frame's code: this function stays small.
func (pl *plan) reached(ctx context.Context, i uint, n int64) Call {
	if !pl.method.located.Load() {
		pl.method.locate()
	}
	chosen := pl.rate == 1 || pl.claim(i, n)
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
	var pcs [nearFrames]uintptr
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
		if caller, found := pl.method.cachedCaller(pcs, ended); found {
			return pl.time(ctx, caller, "", reached)
		}
	}
	return pl.time(ctx, pl.method.findCaller(pcs, ended), "", reached)
}

// timeCalled times a chosen call whose stack begins with these frames.
//
//go:noinline
func (pl *plan) timeCalled(ctx context.Context, pcs []uintptr, reached int64) Call {
	if pl.stack {
		return pl.timeStacked(ctx, pcs, reached)
	}
	caller, far := pl.method.callerAmong(pcs, nearFrames)
	if far {
		var pcs [farFrames]uintptr
		caller = callerAmongFar(pcs[:runtime.Callers(framesToCaller+1+nearFrames, pcs[:])])
	}
	return pl.time(ctx, caller, "", reached)
}

// claim decides for the call with number n on counter i. The gap to the next chosen
// call is drawn once and counted down, which is exactly a draw per call. Counting on
// from the old mark, not from n, keeps the law when calls overtake each other: every
// mark is claimed once.
func (pl *plan) claim(i uint, n int64) bool {
	at := &pl.marks[i]
	for {
		mark := at.Load()
		if mark == 0 { // the first call under this plan draws for itself
			at.CompareAndSwap(0, later(n-1, pl.gap(pl.draw(i, 0))))
			continue
		}
		if n < mark {
			return false
		}
		if at.CompareAndSwap(mark, later(mark, pl.gap(pl.draw(i, mark)))) {
			return true
		}
	}
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

const randomness = 1 << 56 // the space of OpenTelemetry's consistent sampling

// rejectionThreshold returns T of OpenTelemetry's consistent probability sampling: of
// 2^56 random values those below T are rejected.
func rejectionThreshold(p float64) uint64 {
	return uint64(math.Round((1 - p) * randomness))
}

// thresholdText writes a threshold as th: 14 hex digits without trailing zeros.
func thresholdText(t uint64) string {
	if t == 0 {
		return "0"
	}
	digits := strconv.FormatUint(t, 16)
	digits = strings.Repeat("0", max(0, 14-len(digits))) + digits
	return strings.TrimRight(digits, "0")
}
