//go:build !unix && !windows

package hostclock

// ProcessCPU is not available here.
func ProcessCPU() (int64, bool) { return 0, false }
