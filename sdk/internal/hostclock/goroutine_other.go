//go:build !linux

package hostclock

// Goroutine is only asked for calls whose CPU is timed, and there are none here.
func Goroutine() uint64 { return 0 }

// GoroutineAvailable tells whether Goroutine can tell goroutines apart.
func GoroutineAvailable() bool { return false }
