package hostclock

import (
	"sync/atomic"
	"time"
)

// stepped is how far StepWall has moved what Wall reads, in ns.
var stepped atomic.Int64

// Wall returns Unix nanoseconds by the clock on the wall, which may be set at any
// time, forth and back.
func Wall() int64 { return time.Now().UnixNano() + stepped.Load() }

// StepWall moves what Wall reads from now on, as setting the system's clock would,
// which tests and benchmarks may not do: it is everybody's. Now stands outside of
// it, as the kernel's monotonic clock does.
func StepWall(by time.Duration) { stepped.Add(int64(by)) }
