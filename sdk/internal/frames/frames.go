// Package frames reads the return addresses on the running goroutine's stack by its
// frame pointers, which costs a nanosecond a frame where runtime.Callers takes
// twenty.
//
// Its invariant: it reads nothing but the goroutine's own stack, between where it
// stands and the stack's end, upwards only, and in assembly, where the goroutine is
// neither preempted nor moved. A chain that leaves these bounds is reported as broken.
//
// It does not know about inlining: an address stands for a frame, which may be of
// several functions.
package frames

import "runtime"

// Trusted reports whether Walk finds what runtime.Callers finds, in a trial. Where it
// does not (another architecture, a runtime with another stack layout) it must not be
// used.
func Trusted() bool { return Available && tried(triedFrames) }

const triedFrames = 3

//go:noinline
func tried(depth int) (agree bool) {
	if depth > 0 {
		defer func() { agree = agree && depth > 0 }() // so that the frame is needed
		return tried(depth - 1)
	}
	var walked, known [64]uintptr
	n, ended := Walk(&walked[0], len(walked))
	m := runtime.Callers(2, known[:]) // without itself, nor this function
	if n <= triedFrames || m <= triedFrames {
		return false
	}
	for i := range triedFrames {
		if walked[i] != known[i] {
			return false
		}
	}
	// Between these and the end the runtime may see more: functions that are inlined.
	return n == len(walked) || m == len(known) || ended && walked[n-1] == known[m-1]
}
