//go:build !linux

package background

import (
	"os"
	"os/exec"
)

func dieWithParent(*exec.Cmd) {}

func terminate(cmd *exec.Cmd) { _ = cmd.Process.Signal(os.Interrupt) }
