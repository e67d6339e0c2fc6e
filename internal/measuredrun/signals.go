package measuredrun

import (
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
)

// catchSignals keeps signals from ending this process, including SIGPIPE of a table that nobody reads.
// Ignored signals, such as SIGHUP below nohup, stay ignored, for the program too.
func catchSignals() chan os.Signal {
	caught := make(chan os.Signal, 8)
	passed := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE}, signal.Ignored)
	signal.Notify(caught, passed...)
	return caught
}

// forwardSignals forwards signals until the program has ended. Terminal signals reach all foreground
// processes, including the program, so they are not forwarded: a second Ctrl-C would cut its shutdown short.
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

// exitCodeOf returns the exit code of an ended program, as a shell would.
func exitCodeOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
