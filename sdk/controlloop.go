package corehour

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/corehour/corehour/sdk/internal/cpuslots"
	"github.com/corehour/corehour/sdk/internal/hostclock"
)

const (
	tick = time.Second
	// busyCalls in one tick justify a counter with its own cache line per stack.
	busyCalls = 10_000
)

// controlLoop cuts intervals on the clock, watches the CPU slots, shards the counters
// of busy methods and keeps headroom in the queue until the engine stops. Then it cuts
// the last interval.
func (e *engine) controlLoop() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	spending := time.NewTicker(budgetTick)
	defer spending.Stop()
	boundary := time.NewTimer(e.untilBoundary())
	defer boundary.Stop()
	seen := map[*Method]int64{}
	calibrated := 1 // by Start
	reportUnused := sync.OnceFunc(e.reportUnused)
	lastTick := now()
	for {
		select {
		case <-e.stopping:
			e.disableCPUOfStrays()
			if _, _, enough := e.probe.wait.stats(); !enough {
				e.probe.measureWaits()
			}
			e.cut(e.unix(now()), true)
			close(e.lastCutDone)
			return
		case <-boundary.C:
			e.anchor()
			if wait := e.boundaryAhead(); wait > 0 {
				boundary.Reset(wait)
				continue
			}
			e.cut(floor(e.unix(now()), int64(e.interval)), false)
			if calibrated < calibrations {
				calibrated++
				e.calibrate()
			}
			reportUnused() // by now the program has created its methods
			boundary.Reset(e.untilBoundary())
		case <-spending.C:
			e.holdBudget(now())
		case <-e.crowded:
			e.freeHeadroom()
		case rates := <-e.servedRates:
			e.ratesUntil = now() + int64(rates.ttl)
			if e.policy.rates != rates {
				e.applyRates(rates)
			}
		case file := <-e.methodFiles:
			e.applyMethodFile(file)
		case <-ticker.C:
			// A late tick means that the whole program had no processor. A slot held that long
			// is then no fault of its method, so the next tick decides.
			at := now()
			if at-lastTick < int64(tick)+int64(cpuslots.Patience)/4 {
				e.freeSlots(at)
			}
			lastTick = at
			e.disableCPUOfStrays()
			if e.policy.rates != nil && at > e.ratesUntil {
				e.applyRates(nil)
				messages.Logf("the rates served are no longer fresh; the method file and the defaults hold")
			}
			e.shardBusyCounters(seen)
			e.probe.measureWaits()
			messages.Write()
		}
	}
}

func (e *engine) reportUnused() {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if err := e.policy.unused(); err != nil {
		messages.Logf("%v", err)
	}
}

func (e *engine) untilBoundary() time.Duration {
	at := e.unix(now())
	return time.Duration(floor(at, int64(e.interval)) + int64(e.interval) - at)
}

// littleStep is the longest delay of an interval's end. Collectors tolerate that much CPU time
// beyond the length of the interval.
const littleStep = time.Second

// boundaryAhead returns the time until the end of the interval if the clock was set back by less
// than littleStep while the loop waited; 0 = the interval has ended.
func (e *engine) boundaryAhead() time.Duration {
	if wait := e.untilBoundary(); wait < littleStep && floor(e.unix(now()), int64(e.interval)) <= e.lastCut {
		return wait
	}
	return 0
}

func floor(x, step int64) int64 { return x - x%step }

// cut closes the interval that ends at end. If more than a minute has passed (the machine slept,
// or its clock was set), the interval starts with the last minute.
func (e *engine) cut(end int64, final bool) {
	iv := &interval{start: e.lastCut, end: end, final: final}
	at := now()
	setBack := iv.start > end || iv.start == end && at > e.lastCutAt
	if thisMinute := floor(end-1, minuteNS); iv.start < thisMinute || setBack {
		iv.start = thisMinute
	}
	iv.lasted = iv.end - iv.start
	iv.recentOn = end - 1 // at the latest: a row belongs to the minute that it begins in
	e.lastCut, e.lastCutAt = end, at

	registry.mu.Lock()
	minute := minuteOf(e.unix(now()))
	var activated, recent []*Method
	var activatedCalls, recentCalls []int64
	aggregated := int64(0)
	for _, m := range registry.ordered {
		calls := m.Calls() - m.reportedCalls
		if calls > 0 {
			if on := min(e.switchedOn(m), iv.recentOn); m.reportedCalls == 0 && on > iv.start {
				recent, recentCalls, iv.recentOn = append(recent, m), append(recentCalls, calls), on
			} else if e.activated(m, iv.start) {
				activated, activatedCalls = append(activated, m), append(activatedCalls, calls)
			} else {
				iv.methods, iv.calls = append(iv.methods, m), append(iv.calls, calls)
			}
			iv.total += calls
			m.reportedCalls += calls
			e.followTail(m, calls)
		}
		if pl := m.plan.Load(); pl != nil && pl.mode == Aggregate {
			aggregated += calls
			pl.openShards(minute, true)
		}
	}
	registry.mu.Unlock()
	iv.activated, iv.recent = len(activated), len(recent)
	iv.methods, iv.calls = slices.Concat(iv.methods, activated, recent), slices.Concat(iv.calls, activatedCalls, recentCalls)

	if cpu, ok := hostclock.ProcessCPU(); ok {
		iv.cpu, iv.cpuKnown = cpu-e.lastCPU, true
		e.lastCPU = cpu
	}
	iv.sdk = e.ownCPU(iv.total, aggregated)
	e.intervals.addInterval(iv)
	e.wakeSender()
}

// freeSlots ends the CPU timing of methods that hold a slot too long. Their calls in flight keep
// slot and thread until they end.
func (e *engine) freeSlots(at int64) {
	useOf := func(slot int) uint64 { return slotDetails[slot].use.Load() }
	cpuSlots.Impatient(at, useOf, func(m *Method) {
		registry.mu.Lock()
		defer registry.mu.Unlock()
		if e.timeByWallOnly(m, "blocking") {
			messages.Logf("method %q: a call whose CPU was timed held its thread for more than %s; from now on it is timed by the wall only (declare it Blocking)", m.name, cpuslots.Patience)
		}
	})
}

// disableCPUOfStrays ends the CPU timing of methods whose calls end on other goroutines.
func (e *engine) disableCPUOfStrays() {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	cpuSlots.Owners(e.disableCPUOfStray)
}

// disableCPUOfStray ends the CPU timing of m if its calls end on other goroutines. That holds for
// the life of the program, because lost slots stay lost over a shutdown. registry.mu is held.
func (e *engine) disableCPUOfStray(m *Method) {
	if m.cpu.Strayed.Load() && e.timeByWallOnly(m, "strayed") {
		messages.Logf("method %q: a call whose CPU was timed ended on another goroutine than it began on, which keeps its thread; from now on it is timed by the wall only (end calls where they begin, or declare it Blocking)", m.name)
	}
}

// timeByWallOnly ends the CPU timing of m and reports whether it was on until now. registry.mu is
// held.
func (e *engine) timeByWallOnly(m *Method, why string) bool {
	if m.wallOnly != "" {
		return false
	}
	m.wallOnly = why
	e.counters.wallOnly.Add(1)
	e.updatePlan(m)
	return true
}

// shardBusyCounters gives each busy method one counter per shard.
func (e *engine) shardBusyCounters(seen map[*Method]int64) {
	shards := shardCount()
	registry.mu.Lock()
	defer registry.mu.Unlock()
	for _, m := range registry.ordered {
		if m.shards.Load() != nil {
			continue
		}
		total := m.Calls()
		if total-seen[m] > busyCalls && shards > 1 {
			delete(seen, m)
			m.shardCounters(shards)
			if m.plan.Load() != nil {
				e.updatePlan(m)
			}
			continue
		}
		seen[m] = total
	}
}

// shardCount returns the number of counters of a busy method: four per processor, rounded up to a
// power of two. With fewer, two busy goroutines often share one.
func shardCount() int {
	return powerOfTwo(min(4*runtime.NumCPU(), maxShards))
}

const maxShards = 256
