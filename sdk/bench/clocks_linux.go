package main

import (
	"syscall"
	"time"
	"unsafe"
)

func threadCPU() int64 {
	var ts syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 3, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

func processCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// sevenClocks returns the readings of a call with wall and CPU time. The first three wall readings only bring
// the code into the caches.
//
//go:noinline
func sevenClocks(x int) int {
	wall := time.Since(base)
	cpu := threadCPU()
	wall += time.Since(base)
	wall -= time.Since(base)
	wall -= time.Since(base)
	x++
	wall += time.Since(base)
	return x + int(threadCPU()-cpu) + int(wall)
}
