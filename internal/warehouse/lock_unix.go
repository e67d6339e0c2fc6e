//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package warehouse

import (
	"errors"
	"os"
	"syscall"
)

func flock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

func isHeld(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
