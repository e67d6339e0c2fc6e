package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/corehour/corehour/sdk"
	"github.com/corehour/corehour/test/figures"
)

// path is one thing to be timed: run does it n times.
type path struct {
	run   func(n int)
	least time.Duration // of a batch
	n     int           // calls in one
	ns    []float64     // per call, by batch
}

// sinkhole keeps results in use, so that the compiler cannot remove the calls.
var sinkhole atomic.Int64

func loop(f func(int) int) func(int) {
	return func(n int) {
		x := 0
		for range n {
			x = f(x)
		}
		sinkhole.Store(int64(x))
	}
}

// noticed is longer than the SDK's delay in detecting a busy method.
const noticed = 2500 * time.Millisecond

func warmUp(lasting time.Duration) {
	for begin := time.Now(); time.Since(begin) < lasting; {
		for _, f := range []func(int) int{skipped, skippedDefer, wall, aggregate, tailed} {
			loop(f)(200)
		}
		for range 200 {
			deep(depth)
		}
		settled()
	}
}

// waitingMost is half of the SDK's queue.
const waitingMost = 4096

// settled waits until the sender has nothing to do, so that no batch finds the
// queue full or shares the processors with it.
func settled() {
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Microsecond) {
		s := corehour.Stats()
		if s.QueueLength < waitingMost && toSend(&s) <= 0 {
			return
		}
		if time.Now().After(deadline) {
			panic(fmt.Sprintf("the SDK does not come to rest: %+v", s))
		}
	}
}

// toSend returns the number of records that have left the queue and are neither sent nor given up. Refused
// records, and those removed for headroom, are aggregated instead.
func toSend(s *corehour.Snapshot) int64 {
	addedUp := s.Folded + s.FoldLost - s.Dropped // aggregated records that the queue had accepted
	return s.Recorded - int64(s.QueueLength) - addedUp - s.Sent - s.MeasurementsUnsure
}

// measure times every path in turn, round after round, in batches that last for
// long enough. ready is waited for before each.
func measure(all []*path, rounds int, ready func()) {
	for _, p := range all {
		for p.n == 0 || p.tooShort() {
			p.n = max(1, 2*p.n)
		}
	}
	for range rounds {
		for _, p := range all {
			ready()
			begin := time.Now()
			p.run(p.n)
			p.ns = append(p.ns, float64(time.Since(begin))/float64(p.n))
		}
	}
}

func (p *path) tooShort() bool {
	begin := time.Now()
	p.run(p.n)
	return time.Since(begin) < p.least
}

func (p *path) median() float64 { return median(p.ns) }

func paths(report *figures.Run, otel peers, rounds int) {
	ctx := context.Background()
	named := map[string]*path{}
	var all []*path
	add := func(name string, run func(int)) {
		p := &path{run: run, least: 150 * time.Microsecond}
		named[name] = p
		all = append(all, p)
	}
	twice := func(name string, f func(int) int) {
		add(name, loop(f))
		two := name + ", two goroutines"
		add(two, func(n int) { both(loop(f), loop(f), n) })
		named[two].least = time.Millisecond // against the time to start them
	}
	with := func(tracer trace.Tracer) func(int) int {
		return func(x int) int { return spanned(ctx, tracer, x) }
	}
	twice("bare", bare)
	add("locked add", loop(lockedAdd))
	add("locked adds, two goroutines", func(n int) { both(loop(lockedAdd), loop(lockedAddElsewhere), n) })
	named["locked adds, two goroutines"].least = time.Millisecond
	add("empty defer", loop(emptyDefer))
	add("two clocks", loop(twoClocks))
	add("two clocks and stack", loop(twoClocksAndStack))
	add("seven clocks", loop(sevenClocks))
	add("disabled", loop(disabled))
	add("disabled, defer", loop(disabledDefer))
	twice("skipped", skipped)
	add("skipped, defer", loop(skippedDefer))
	add("wall", loop(wall))
	add("wall, caller", loop(wallCaller))
	add("cpu", loop(cpu))
	add("cpu, caller", loop(cpuCaller))
	twice("aggregate", aggregate)
	add("tail", loop(tailed))
	add("deep bare", func(n int) {
		for range n {
			_ = deepBare(depth)
		}
	})
	add("deep", func(n int) {
		for range n {
			deep(depth)
		}
	})
	twice("counter", counted)
	twice("counter and histogram", observed)
	add("otel none", loop(with(otel.none)))
	twice("otel never", with(otel.never))
	twice("otel rare", with(otel.rare))
	twice("otel always", with(otel.always))
	add("otel deep", func(n int) {
		for range n {
			deepSpanned(ctx, otel.rare, depth)
		}
	})
	measure(all, rounds, settled)

	pathRows(report, named)
}

// both runs two loops on two goroutines at once; the time is that of the slower one.
func both(one, other func(int), n int) {
	var running sync.WaitGroup
	running.Go(func() { one(n) })
	running.Go(func() { other(n) })
	running.Wait()
}
