package corehour

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

var waiter = NewMethod("waits.Work")

// A timed call says how often it gave up the processor, from the first call of a method on. With
// the cost of as many waits taken off, its CPU time is that of its work, to half of that cost. A
// host may give its processors to others meanwhile: then another round has to show it.
func TestWaitsOfATimedCall(t *testing.T) {
	e, _ := startWith(t, func(*config) {})
	force(e, waiter, settings{rate: 1, cpuRate: 1})
	const calls, pauses, iterations = 300, 4, 20_000
	x := uint64(1)
	timed := func(pause time.Duration) (cpu, waits float64) {
		n := 0.0
		for range calls {
			c := waiter.Begin()
			for range pauses {
				for range iterations {
					x = x*6364136223846793005 + 1442695040888963407
				}
				if pause > 0 {
					time.Sleep(pause)
				}
			}
			c.End()
			for _, r := range e.ring.Dequeue(nil, 1) {
				if r.state == cpuExact {
					n++
					cpu += float64(r.cpu)
					waits += float64(r.waits)
				}
			}
			e.probe.measureWaits()
		}
		return cpu / n, waits / n
	}
	var found []string
	for range 5 {
		work, none := timed(0)
		with, waits := timed(100 * time.Microsecond)
		cost, spread, enough := e.probe.wait.stats()
		if !enough {
			t.Fatal("no wait was measured")
		}
		each := (with - work) / waits
		if none < 0.5 && waits > pauses-0.5 && waits < pauses+1 && each > 0.5*float64(cost) && each < 1.5*float64(cost) {
			return
		}
		found = append(found, fmt.Sprintf("%.2f and %.2f waits, %.0f ns each; the probe says %d±%d ns", none, waits, each, cost, spread))
	}
	runtime.KeepAlive(x)
	t.Errorf("calls without pauses and with %d:\n%s", pauses, strings.Join(found, "\n"))
}
