package corehour

import "testing"

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
