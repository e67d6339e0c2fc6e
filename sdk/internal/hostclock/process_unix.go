//go:build unix

package hostclock

import "syscall"

// ProcessCPU returns the CPU nanoseconds, user and system, of this process.
func ProcessCPU() (int64, bool) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0, false
	}
	return usage.Utime.Nano() + usage.Stime.Nano(), true
}
