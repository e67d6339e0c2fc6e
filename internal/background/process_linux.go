package background

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel end the process if this one is killed.
func dieWithParent(cmd *exec.Cmd) {
	// A group of its own keeps the terminal's Ctrl-C from it: the command stops its
	// parts in order, so that nothing is lost.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func terminate(cmd *exec.Cmd) { _ = cmd.Process.Signal(syscall.SIGTERM) }
