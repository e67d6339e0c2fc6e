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

// ThreadCPU returns the CPU nanoseconds of the current thread. It is a raw system call that takes well
// under a microsecond and never blocks, so the scheduler is not informed.
func ThreadCPU() int64 {
	var ts syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTimeID, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

// rusageThread is RUSAGE_THREAD of the Linux kernel, on every architecture.
const rusageThread = 1

// ThreadWaits returns how often the current thread has given up its processor to wait. It is a
// raw system call that never blocks, as ThreadCPU is.
func ThreadWaits() int64 {
	var usage syscall.Rusage
	_, _, _ = syscall.RawSyscall(syscall.SYS_GETRUSAGE, rusageThread, uintptr(unsafe.Pointer(&usage)), 0)
	return int64(usage.Nvcsw) //nolint:unconvert // it is an int32 on 32-bit processors
}

// ThreadCPUAvailable reports whether ThreadCPU is precise enough to be true.
func ThreadCPUAvailable() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return finestStep(ThreadCPU, 20*time.Millisecond) < coarsestStep
}
