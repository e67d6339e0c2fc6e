package main

import (
	"syscall"
	"time"
	"unsafe"
)

// threadCPU returns the CPU time of this thread.
func threadCPU() time.Duration {
	const clockThreadCPU = 3
	var t syscall.Timespec
	if _, _, fault := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&t)), 0); fault != 0 {
		panic(fault)
	}
	return time.Duration(t.Nano())
}
