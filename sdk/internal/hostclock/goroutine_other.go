//go:build !linux

package hostclock

// Goroutine returns 0: no CPU is timed on this platform.
func Goroutine() uint64 { return 0 }

// GoroutineAvailable reports whether Goroutine can distinguish goroutines.
func GoroutineAvailable() bool { return false }

// UseID has no effect on this platform.
func UseID(func() uint64) {}
