//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package state

import (
	"os"
	"syscall"
)

// flock waits: a change takes a moment.
func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }

// syncDirectory makes a rename last.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
