//go:build !linux

package hostclock

// ThreadCPU returns 0: this platform has no thread clock that is precise enough and readable without
// cgo.
func ThreadCPU() int64 { return 0 }

// ThreadWaits returns 0: no CPU is timed on this platform.
func ThreadWaits() int64 { return 0 }

// ThreadCPUAvailable returns false on this platform.
func ThreadCPUAvailable() bool { return false }
