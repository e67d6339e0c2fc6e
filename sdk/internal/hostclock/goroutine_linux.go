//go:build linux && !amd64 && !arm64

package hostclock

import "syscall"

// Goroutine returns the thread id: a goroutine that is locked to its thread has
// it for itself, and only such goroutines are compared.
func Goroutine() uintptr {
	id, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
	return id
}
