package corehour

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var waiter = NewMethod("waits.Work")

// A timed call records how often it gave up the processor, from the first call of a method on. Its CPU
// time, less the cost of its waits, is the time of its work, within half of that cost. Calls with and
// without pauses alternate, and their medians are compared, because busy neighbours slow both. A host can
// give its processors to others during a round; then another round must pass.
func TestWaits_TimedCall(t *testing.T) {
	e, _ := startWith(t, func(*config) {})
	force(e, waiter, settings{rate: 1, cpuRate: 1})
	const calls, pauses, iterations = 300, 4, 20_000
	x := uint64(1)
	timed := func(of *timedCalls, pause time.Duration) {
		c := waiter.Begin()
		work := x // a copy that the race detector does not follow
		for range pauses {
			for range iterations {
				work = work*6364136223846793005 + 1442695040888963407
			}
			if pause > 0 {
				time.Sleep(pause)
			}
		}
		x = work
		c.End()
		for _, r := range e.ring.Dequeue(nil, 1) { // none if the sender was first
			if r.state == cpuExact {
				of.cpu = append(of.cpu, r.cpu)
				of.waits += float64(r.waits)
			}
		}
		e.probe.measureWaits()
	}
	var found []string
	for range 5 {
		var plain, paused timedCalls
		for range calls {
			timed(&plain, 0)
			timed(&paused, 100*time.Microsecond)
		}
		cost, spread, enough := e.probe.wait.stats()
		if !enough || len(plain.cpu) == 0 || len(paused.cpu) == 0 {
			t.Fatalf("no wait was measured, or no CPU: of %d and %d calls", len(plain.cpu), len(paused.cpu))
		}
		none, waits := plain.meanWaits(), paused.meanWaits()
		each := (paused.medianCPU() - plain.medianCPU()) / waits
		if none < 0.5 && waits > pauses-0.5 && waits < pauses+1 && each > 0.5*float64(cost) && each < 1.5*float64(cost) {
			return
		}
		found = append(found, fmt.Sprintf("%.2f and %.2f waits, %.0f ns each; the probe says %d±%d ns", none, waits, each, cost, spread))
	}
	runtime.KeepAlive(x)
	t.Errorf("calls without pauses and with %d:\n%s", pauses, strings.Join(found, "\n"))
}

// timedCalls are those of which the CPU was timed.
type timedCalls struct {
	cpu   []int64
	waits float64
}

func (c *timedCalls) meanWaits() float64 { return c.waits / float64(len(c.cpu)) }

func (c *timedCalls) medianCPU() float64 {
	slices.Sort(c.cpu)
	return float64(c.cpu[len(c.cpu)/2])
}
