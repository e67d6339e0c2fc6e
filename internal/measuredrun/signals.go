package measuredrun

import (
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
)

// catchSignals keeps what would end this process from it, SIGPIPE of a table that nobody reads, too.
// Signals that are ignored, as SIGHUP below nohup, stay so, for the program too.
func catchSignals() chan os.Signal {
	caught := make(chan os.Signal, 8)
	passed := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE}, signal.Ignored)
	signal.Notify(caught, passed...)
	return caught
}

// forwardSignals passes signals on until the program has ended. What is typed in a terminal its
// foreground processes get all, the program too: a second Ctrl-C would cut its shutdown short.
func forwardSignals(caught <-chan os.Signal, cmd *exec.Cmd, ended <-chan struct{}) {
	for {
		select {
		case sig := <-caught:
			if typed := sig == os.Interrupt || sig == syscall.SIGQUIT; !typed || !inForeground() {
				_ = cmd.Process.Signal(sig) // fails if it has ended
			}
		case <-ended:
			return
		}
	}
}

// exitCodeOf returns the exit code that a shell has for an ended program.
func exitCodeOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
