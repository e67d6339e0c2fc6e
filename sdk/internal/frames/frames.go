// Package frames reads the return addresses on the running goroutine's stack by its frame pointers,
// which takes a nanosecond a frame instead of the twenty of runtime.Callers.
//
// Its invariant: it only reads the goroutine's own stack, between its position and the end of the
// stack, upwards, and in assembly, where the goroutine is neither preempted nor moved. A chain that
// leaves these bounds is reported as broken.
//
// It does not know about inlining: an address stands for a frame, which can contain several functions.
package frames

import "runtime"

// Trusted reports whether Walk and runtime.Callers agree in a trial. If not (another architecture, or a
// runtime with another stack layout), Walk must not be used.
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
	m := runtime.Callers(2, known[:]) // without Callers and this function
	if n <= triedFrames || m <= triedFrames {
		return false
	}
	for i := range triedFrames {
		if walked[i] != known[i] {
			return false
		}
	}
	// Between these and the end the runtime can report more functions: inlined ones.
	return n == len(walked) || m == len(known) || ended && walked[n-1] == known[m-1]
}
