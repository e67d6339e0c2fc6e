//go:build !linux

package hostclock

// Goroutine returns 0: no call has its CPU timed here.
func Goroutine() uint64 { return 0 }

// GoroutineAvailable reports whether Goroutine can distinguish goroutines.
func GoroutineAvailable() bool { return false }

// UseID has no use here.
func UseID(func() uint64) {}
