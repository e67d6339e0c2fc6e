//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package state

import (
	"os"
	"syscall"
)

// flock blocks until the lock is free; a change takes only a moment.
func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }
