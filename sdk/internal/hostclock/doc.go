// Package hostclock reads the clocks a probe needs: monotonic time, the CPU
// time of the running thread, and the CPU time and memory of the process. It also reads
// what machine the process is on, once.
//
// Its invariant: a reading is true or reported as absent. A thread clock that
// moves in scheduler ticks (some sandboxes, Windows) is absent, because a short
// call would read as zero.
//
// It also tells goroutines apart, by the id that the runtime gives to each: looked up
// where the runtime keeps it, if it was found there with certainty, and else read from
// what the runtime writes above a stack. Keeping a goroutine on its thread between two
// readings is the caller's business.
package hostclock

import "time"

var base = time.Now()

// Now returns monotonic nanoseconds since an arbitrary point in this process.
// One reading of the clock, half the price of time.Now.
func Now() int64 { return int64(time.Since(base)) }

// coarsestStep is the largest step of the thread clock that still counts as a
// clock: above it, the cost of a method of a few microseconds is invisible.
const coarsestStep = 50 * time.Microsecond

// leastReadings are made whatever the time: a process that has to wait for a
// processor between its first readings has used up its time and seen one step, in
// which the machine may have been away.
const leastReadings = 1_000

// finestStep spins on the clock and returns its smallest visible step, or
// the budget when it never moved.
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
