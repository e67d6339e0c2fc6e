package hostclock

import (
	"sync/atomic"
	"time"
)

// stepped is the sum of all StepWall steps, in ns.
var stepped atomic.Int64

// Wall returns Unix nanoseconds by the wall clock, which can be set at any time, forward or back.
func Wall() int64 { return time.Now().UnixNano() + stepped.Load() }

// StepWall shifts the values of Wall from now on, like setting the system's clock, which tests and
// benchmarks must not do. It does not affect Now, like the kernel's monotonic clock.
func StepWall(by time.Duration) { stepped.Add(int64(by)) }
