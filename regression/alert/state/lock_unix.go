//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package state

import (
	"os"
	"syscall"
)

// flock waits: a change takes a moment.
func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }
