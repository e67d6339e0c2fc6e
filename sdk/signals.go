package corehour

import (
	"os"
	"os/signal"
	"syscall"
)

// endOnSignal calls end before a signal ends a program that handles none. The program then ends by
// that signal, as without the SDK.
func endOnSignal(end func()) {
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, os.Interrupt, syscall.SIGTERM)
	go func() {
		sig := <-arrived
		end()
		signal.Reset(os.Interrupt, syscall.SIGTERM)
		if self, err := os.FindProcess(os.Getpid()); err != nil || self.Signal(sig) != nil {
			os.Exit(2) // where a process cannot signal itself
		}
	}()
}
