package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/corehour/corehour/internal/figures"
	"github.com/corehour/corehour/sdk"
)

// path is one thing to be timed: run does it n times.
type path struct {
	run   func(n int)
	least time.Duration // of a batch
	n     int           // calls in one
	ns    []float64     // per call, by batch
}

var sinkhole int

func loop(f func(int) int) func(int) {
	return func(n int) {
		x := 0
		for range n {
			x = f(x)
		}
		sinkhole = x
	}
}

// warmUp keeps methods busy for longer than it takes the SDK to notice.
func warmUp() {
	for begin := time.Now(); time.Since(begin) < 2500*time.Millisecond; {
		for _, f := range []func(int) int{skipped, skippedDefer, wall, aggregate, tailed} {
			loop(f)(200)
		}
		deep(depth)
		settled()
	}
}

// waitingMost is half of the SDK's queue.
const waitingMost = 4096

// settled waits until the sender has nothing to do, so that no batch finds the
// queue full or shares the processors with it.
func settled() {
	for {
		s := corehour.Stats()
		if s.QueueLength < waitingMost && s.Recorded-int64(s.QueueLength) <= s.Sent {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// measure times every path in turn, round after round.
func measure(all []*path, rounds int) {
	for _, p := range all {
		p.n = 1
		for {
			begin := time.Now()
			p.run(p.n)
			if took := time.Since(begin); took >= p.least {
				break
			}
			p.n *= 2
		}
	}
	for range rounds {
		for _, p := range all {
			settled()
			begin := time.Now()
			p.run(p.n)
			p.ns = append(p.ns, float64(time.Since(begin))/float64(p.n))
		}
	}
	for _, p := range all {
		slices.Sort(p.ns)
	}
}

func (p *path) median() float64 { return p.ns[len(p.ns)/2] }

func paths(report *figures.Report, otel peers, rounds int) {
	ctx := context.Background()
	named := map[string]*path{}
	var all []*path
	add := func(name string, run func(int)) {
		p := &path{run: run, least: 150 * time.Microsecond}
		named[name] = p
		all = append(all, p)
	}
	add("bare", loop(bare))
	add("empty defer", loop(emptyDefer))
	add("two clocks", loop(twoClocks))
	add("two clocks and stack", loop(twoClocksAndStack))
	add("four clocks", loop(fourClocks))
	add("disabled", loop(disabled))
	add("disabled, defer", loop(disabledDefer))
	add("skipped", loop(skipped))
	add("skipped, defer", loop(skippedDefer))
	add("skipped, two goroutines", func(n int) { both(loop(skipped), n) })
	named["skipped, two goroutines"].least = time.Millisecond // against the time to start them
	add("wall", loop(wall))
	add("wall, caller", loop(wallCaller))
	add("cpu", loop(cpu))
	add("cpu, caller", loop(cpuCaller))
	add("aggregate", loop(aggregate))
	add("tail", loop(tailed))
	add("deep bare", func(n int) {
		for range n {
			deepBare(depth)
		}
	})
	add("deep", func(n int) {
		for range n {
			deep(depth)
		}
	})
	add("otel never", loop(func(x int) int { return spanned(ctx, otel.never, x) }))
	add("otel rare", loop(func(x int) int { return spanned(ctx, otel.rare, x) }))
	add("otel always", loop(func(x int) int { return spanned(ctx, otel.always, x) }))
	add("otel deep", func(n int) {
		for range n {
			deepSpanned(ctx, otel.rare, depth)
		}
	})
	measure(all, rounds)

	net := func(name string) float64 { return named[name].median() - named["bare"].median() }
	deepNet := func(name string) float64 { return named[name].median() - named["deep bare"].median() }
	goal := figures.Goal
	report.Compare("disabled", net("disabled"), "ns", "otel never", net("otel never"), figures.Lower, goal(1.0/120))
	report.Compare("not chosen, rate 0.001, counted", net("skipped"), "ns", "otel ratio 0.001", net("otel rare"), figures.Lower, goal(1.0/65))
	report.Compare("the same in two goroutines", named["skipped, two goroutines"].median(), "ns", "in one", named["skipped"].median(), figures.Lower, goal(1.5))
	report.Compare("disabled, defer form, added", named["disabled, defer"].median()-named["disabled"].median(), "ns", "an empty defer", net("empty defer"), figures.Lower, goal(3))
	report.Compare("not chosen, defer form, added", named["skipped, defer"].median()-named["skipped"].median(), "ns", "an empty defer", net("empty defer"), figures.Lower, goal(3))
	report.Compare("wall", net("wall"), "ns", "two clock readings", net("two clocks"), figures.Lower, goal(1.3))
	report.Compare("wall and caller", net("wall, caller"), "ns", "two clock readings and the stack", net("two clocks and stack"), figures.Lower, goal(1.15))
	report.Compare("wall and CPU", net("cpu"), "ns", "its four clock readings", net("four clocks"), figures.Lower, goal(1.1))
	report.Compare("wall, CPU and caller", net("cpu, caller"), "ns", "otel always", net("otel always"), figures.Lower, nil)
	report.Compare("aggregated, every call", net("aggregate"), "ns", "two clock readings", net("two clocks"), figures.Lower, goal(1.3))
	report.Compare("aggregated, every call, beside otel", net("aggregate"), "ns", "otel always", net("otel always"), figures.Lower, goal(1.0/15))
	report.Compare("tail kept, every call timed", net("tail"), "ns", "two clock readings", net("two clocks"), figures.Lower, nil)
	report.Compare("depth 10 at 0.001", deepNet("deep"), "ns", "otel ratio 0.001", deepNet("otel deep"), figures.Lower, goal(1.0/40))
}

// both runs a loop on two goroutines at once; the time is that of the slower one.
func both(run func(int), n int) {
	var running sync.WaitGroup
	running.Go(func() { run(n) })
	running.Go(func() { run(n) })
	running.Wait()
}
