package main

import (
	"syscall"
	"time"
	"unsafe"
)

func threadCPU() int64 {
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 3, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

func processCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// fourClocks are the readings without which wall and CPU time cannot be had.
//
//go:noinline
func fourClocks(x int) int {
	wall := time.Since(base)
	cpu := threadCPU()
	x++
	cpu -= threadCPU()
	return x + int(cpu) + int(wall-time.Since(base))
}
