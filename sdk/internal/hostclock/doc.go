// Package hostclock reads the clocks of a probe: monotonic time, the CPU time of the running thread, and
// the CPU time and memory of the process. It also reads the identity and cores of the host, once.
//
// Its invariant: a reading is true or reported as absent. A thread clock that
// moves in scheduler ticks (some sandboxes, Windows) is absent, because a short
// call would read as zero.
//
// It also distinguishes goroutines by their runtime id. The id is read from the runtime's goroutine
// structure if its offset is certain, and otherwise parsed from the output of runtime.Stack. Callers
// are responsible for keeping a goroutine on its thread between two readings.
package hostclock

import "time"

var base = time.Now()

// Now returns monotonic nanoseconds since an arbitrary point in this process. It reads the clock once,
// for half the cost of time.Now.
func Now() int64 { return int64(time.Since(base)) }

// coarsestStep is the largest acceptable step of the thread clock: above it, the cost of a method of a
// few microseconds is invisible.
const coarsestStep = 50 * time.Microsecond

// leastReadings is the least number of readings, even beyond the time budget: a process that waits for
// a processor between its first readings has used its time and seen one step, in which the machine may
// have been suspended.
const leastReadings = 1_000

// finestStep reads the clock in a loop and returns its smallest visible step, or the budget if it
// never moved.
func finestStep(read func() int64, budget time.Duration) time.Duration {
	start := time.Now()
	finest := budget
	last := read()
	for n := range 10_000 {
		now := read()
		if now > last {
			finest = min(finest, time.Duration(now-last))
			if finest < coarsestStep {
				return finest
			}
			last = now
		}
		if n >= leastReadings && time.Since(start) > budget {
			break
		}
	}
	return finest
}
