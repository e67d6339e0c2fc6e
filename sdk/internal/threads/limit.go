// Package threads finds the maximum number of threads of the program. Its invariant: the result never
// exceeds a limit that could be read. It does not count existing threads.
package threads

import (
	"math"
	"os"
	"runtime/debug"
	"sync"
)

// Limit is a bound of the program's threads, with its source.
type Limit struct {
	Threads int
	By      string
}

// Least returns the lowest current limit: Go's own, and on Linux those of the process's control groups
// and of its user.
func Least() Limit {
	least := Limit{Threads: ofGo(), By: "debug.SetMaxThreads"}
	for _, limit := range ofSystem(os.DirFS("/"), os.Getuid()) {
		if limit.Threads < least.Threads {
			least = limit
		}
	}
	return least
}

// reading serialises readings of Go's limit, because a reading changes it.
var reading sync.Mutex

// ofGo reads the limit of Go's runtime, which can only be read by setting it. During that, for less than
// a microsecond, the limit is raised. If the program sets the limit at that moment, its value is kept:
// a value that differs from the one set here was set by the program.
func ofGo() int {
	const unlimited = math.MaxInt32
	reading.Lock()
	defer reading.Unlock()
	set, limit := unlimited, debug.SetMaxThreads(unlimited)
	for {
		found := debug.SetMaxThreads(limit)
		if found == set {
			return limit
		}
		set, limit = limit, found
	}
}
