package hostclock

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// clockThreadCPUTimeID is CLOCK_THREAD_CPUTIME_ID of the Linux kernel, on every
// architecture.
const clockThreadCPUTimeID = 3

// ThreadCPU returns the CPU nanoseconds of the current thread. It is a raw
// system call: it takes well under a microsecond and never blocks, so the
// scheduler need not hear of it.
func ThreadCPU() int64 {
	var ts syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTimeID, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

// ThreadCPUAvailable reports whether ThreadCPU is fine enough to be called true.
func ThreadCPUAvailable() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return finestStep(ThreadCPU, 20*time.Millisecond) < coarsestStep
}
