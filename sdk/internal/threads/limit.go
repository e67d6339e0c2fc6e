// Package threads finds out how many threads the program may have. Its invariant: the
// answer is never more than a limit that could be read. It does not count those that
// there are.
package threads

import (
	"math"
	"os"
	"runtime/debug"
	"sync"
)

// Limit is a bound of the program's threads, and where it is set.
type Limit struct {
	Threads int
	By      string
}

// Least returns the least of the limits that hold now: that of Go, and on Linux those of
// the control groups the process is in and of its user.
func Least() Limit {
	least := Limit{Threads: ofGo(), By: "debug.SetMaxThreads"}
	for _, limit := range ofSystem(os.DirFS("/"), os.Getuid()) {
		if limit.Threads < least.Threads {
			least = limit
		}
	}
	return least
}

// reading lets one at a time change what it reads.
var reading sync.Mutex

// ofGo reads the limit of Go's runtime, which can only be had by setting it. While it
// does, for less than a microsecond, the limit is out of the way; where the program sets
// it just then, what it set holds: a limit found that is not the one last set here is
// the program's.
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
