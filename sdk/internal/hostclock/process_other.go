//go:build !unix && !windows

package hostclock

// ProcessCPU is unavailable on this platform.
func ProcessCPU() (int64, bool) { return 0, false }
