//go:build unix

package measuredrun

import (
	"os"

	"golang.org/x/sys/unix"
)

// inForeground reports whether a terminal sends what is typed to the processes of this group.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
