package background

import (
	"os/exec"
	"syscall"
)

// dieWithParent lets the kernel end the process if this one is killed.
func dieWithParent(cmd *exec.Cmd) {
	// In a group of its own it does not get the terminal's Ctrl-C: the command stops its parts in
	// order, so that nothing is lost.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// terminate asks a process to end. It continues a stopped one, which would not notice otherwise.
func terminate(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Process.Signal(syscall.SIGCONT)
}
