package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Process is a program that runs alongside the test, its output in a file.
type Process struct {
	Name string
	Log  string // file with all it printed, runs before included

	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// Start starts a program. Of the environment it gets everything but settings
// of OpenTelemetry's and our own, and then env.
func Start(name, log string, env []string, binary string, args ...string) (*Process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &Process{Name: name, Log: log, cmd: exec.Command(binary, args...), done: make(chan struct{})}
	p.cmd.Env = append(CleanEnvironment(), env...)
	p.cmd.Stdout, p.cmd.Stderr = file, file
	dieWithParent(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // its outcome is read from ProcessState
		close(p.done)
	}()
	return p, nil
}

// CleanEnvironment returns the environment without settings that would reach the
// programs under test from outside.
func CleanEnvironment() []string {
	var kept []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "OTEL_") && !strings.HasPrefix(entry, "COREHOUR_") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// CPU returns the CPU time it used, user and system, once it has ended.
func (p *Process) CPU() time.Duration {
	if !p.Ended() {
		return 0
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether it has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ExitCode returns the exit code, -1 while it runs, and when a signal ended it.
func (p *Process) ExitCode() int {
	if !p.Ended() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// Terminate sends SIGTERM and does not wait.
func (p *Process) Terminate() error { return p.cmd.Process.Signal(syscall.SIGTERM) }

// Kill sends SIGKILL, which no process can answer, and waits. Killing a process
// that has ended is no error.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// Wait waits until it has ended, with exit code 0 or an error.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		return fmt.Errorf("%s has not ended: %w; %s", p.Name, context.Cause(ctx), p.LastLines(10))
	}
	if code := p.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with %s; %s", p.Name, p.cmd.ProcessState, p.LastLines(20))
	}
	return nil
}

// Stop terminates and waits at most so long; one that does not listen is killed.
func (p *Process) Stop(patience time.Duration) error {
	if err := p.Terminate(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := p.Wait(ctx)
	if !p.Ended() {
		return errors.Join(err, p.Kill())
	}
	return err
}

// LastLines returns the last n lines it printed, if it printed any.
func (p *Process) LastLines(n int) string {
	data, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	if len(data) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return fmt.Sprintf("its last lines, of %s:\n  %s", p.Log, strings.Join(lines[max(0, len(lines)-n):], "\n  "))
}
