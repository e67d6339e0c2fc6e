package harness

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the process when the tests are killed.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
