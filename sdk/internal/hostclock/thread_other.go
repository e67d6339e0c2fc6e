//go:build !linux

package hostclock

// ThreadCPU returns 0: there is no thread clock here that a program without cgo
// can read and that is fine enough.
func ThreadCPU() int64 { return 0 }

// ThreadWaits returns 0: no CPU is timed here.
func ThreadWaits() int64 { return 0 }

// ThreadCPUAvailable returns false here.
func ThreadCPUAvailable() bool { return false }
