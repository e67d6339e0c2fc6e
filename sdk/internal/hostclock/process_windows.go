package hostclock

import "syscall"

// ProcessCPU returns the CPU nanoseconds, user and kernel, of this process.
func ProcessCPU() (int64, bool) {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0, false
	}
	var creation, exit, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(self, &creation, &exit, &kernel, &user) != nil {
		return 0, false
	}
	return hundreds(kernel) + hundreds(user), true
}

// hundreds reads a duration in units of 100 ns.
func hundreds(t syscall.Filetime) int64 {
	return (int64(t.HighDateTime)<<32 | int64(t.LowDateTime)) * 100
}
