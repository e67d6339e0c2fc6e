package corehour

import (
	"fmt"
	"strings"
	"testing"
)

// The calibrated costs are of the order of what a timed call costs; in the end that
// of CPU, which reads two more clocks, is the higher one.
func TestCalibration(t *testing.T) {
	e := &engine{config: defaultConfig(), threadClock: true}
	for range 20 {
		e.calibrate()
		wall, cpu := e.counters.wallCost.Load(), e.counters.cpuCost.Load()
		if wall > 100 && wall < cpu && cpu < 100_000 {
			return
		}
	}
	t.Errorf("a call timed by the wall costs %d ns, one whose CPU is timed %d ns", e.counters.wallCost.Load(), e.counters.cpuCost.Load())
}

// A call that does nothing takes next to nothing: reading the clocks is no part of
// it, neither of its CPU nor, where that was read too, of its wall time. What a
// reading costs may change between its calibration and the calls, where a host
// gives its processors to others: then another round has to show it.
func TestReadingsAreNoPartOfACall(t *testing.T) {
	e, _ := startWith(t, func(c *config) {})
	least := func(s settings) (cpu, wall int64) {
		force(e, truth, s)
		cpu, wall = 1<<62, 1<<62
		for range 3000 {
			truth.Begin().End()
			r := e.ring.take(nil, 1)
			if len(r) != 1 || r[0].cpu > r[0].wall {
				t.Fatalf("records %+v", r)
			}
			cpu, wall = min(cpu, r[0].cpu), min(wall, r[0].wall)
		}
		return cpu, wall
	}
	var found []string
	for range 10 {
		e.counters.reading.Store(0)
		e.counters.readingWall.Store(0)
		e.calibrate()
		reading := e.counters.reading.Load()
		_, plain := least(settings{rate: 1})
		cpu, wall := least(settings{rate: 1, cpuRate: 1})
		if reading >= 20 && cpu <= reading*3/4 && wall <= plain+reading {
			return
		}
		found = append(found, fmt.Sprintf("%d ns of CPU, %d ns of wall time with CPU timed, %d ns without; a reading takes %d ns", cpu, wall, plain, reading))
	}
	t.Errorf("a call that does nothing takes\n%s", strings.Join(found, "\n"))
}
