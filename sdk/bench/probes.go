package main

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/sdk"
)

const rare = 0.001

var (
	disabledMethod  = corehour.NewMethod("bench.disabled", corehour.WithMode(corehour.Off))
	skippedMethod   = corehour.NewMethod("bench.skipped", corehour.Rate(rare))
	wallMethod      = corehour.NewMethod("bench.wall", corehour.Rate(1), corehour.CPURate(0), corehour.NoCaller())
	wallStackMethod = corehour.NewMethod("bench.wallCaller", corehour.Rate(1), corehour.CPURate(0))
	cpuMethod       = corehour.NewMethod("bench.cpu", corehour.Rate(1), corehour.CPURate(1), corehour.NoCaller())
	cpuStackMethod  = corehour.NewMethod("bench.cpuCaller", corehour.Rate(1), corehour.CPURate(1))
	sumMethod       = corehour.NewMethod("bench.aggregate", corehour.WithMode(corehour.Aggregate), corehour.Rate(0))
	tailMethod      = corehour.NewMethod("bench.tail", corehour.Rate(rare), corehour.Tail())
	deepMethod      = corehour.NewMethod("bench.deep", corehour.Rate(rare))
)

// The probed methods do one addition, so that the probe dominates. None is inlined, because a method that is
// worth a probe is not.

//go:noinline
func bare(x int) int { return x + 1 }

//go:noinline
func emptyDefer(x int) int {
	defer nothing()
	return x + 1
}

//go:noinline
func nothing() {}

//go:noinline
func disabled(x int) int {
	c := disabledMethod.Begin()
	x++
	c.End()
	return x
}

//go:noinline
func disabledDefer(x int) int {
	defer disabledMethod.Begin().End()
	return x + 1
}

//go:noinline
func skipped(x int) int {
	c := skippedMethod.Begin()
	x++
	c.End()
	return x
}

//go:noinline
func skippedDefer(x int) int {
	defer skippedMethod.Begin().End()
	return x + 1
}

//go:noinline
func wall(x int) int {
	c := wallMethod.Begin()
	x++
	c.End()
	return x
}

//go:noinline
func wallCaller(x int) int {
	c := wallStackMethod.Begin()
	x++
	c.End()
	return x
}

//go:noinline
func cpu(x int) int {
	c := cpuMethod.Begin()
	x++
	c.End()
	return x
}

//go:noinline
func cpuCaller(x int) int {
	c := cpuStackMethod.Begin()
	x++
	c.End()
	return x
}

//go:noinline
func aggregate(x int) int {
	c := sumMethod.Begin()
	x++
	c.End()
	return x
}

//go:noinline
func tailed(x int) int {
	c := tailMethod.Begin()
	x++
	c.End()
	return x
}

const depth = 10

//go:noinline
func deep(n int) int {
	c := deepMethod.Begin()
	if n > 0 {
		n = deep(n - 1)
	}
	c.End()
	return n
}

//go:noinline
func deepBare(n int) int {
	if n > 0 {
		n = deepBare(n - 1)
	}
	return n
}

// locked is the least work of a counting probe: an instruction that locks the counter's cache line.
var locked, lockedElsewhere line

// line has a cache line to itself.
type line struct {
	_ [64]byte
	n atomic.Int64
	_ [64]byte
}

//go:noinline
func lockedAdd(x int) int { return x + int(locked.n.Add(1)) }

//go:noinline
func lockedAddElsewhere(x int) int { return x + int(lockedElsewhere.n.Add(1)) }

//go:noinline
func lockedCalls(n int) int {
	locked.n.Add(1)
	if n > 1 {
		n = lockedCalls(n - 1)
	}
	return n
}

var base = time.Now()

//go:noinline
func twoClocks(x int) int {
	first, second := time.Since(base), time.Since(base)
	return x + int(first-second)
}

// stackFrames is the number of frames that the SDK reads first.
const stackFrames = 16

//go:noinline
func twoClocksAndStack(x int) int {
	first, second := time.Since(base), time.Since(base)
	return x + int(first-second) + frame1()
}

// The SDK reads the stack three frames below the method.

//go:noinline
func frame1() int { return frame2() + 1 }

//go:noinline
func frame2() int { return frame3() + 1 }

//go:noinline
func frame3() int {
	var pcs [stackFrames]uintptr
	return runtime.Callers(4, pcs[:])
}
