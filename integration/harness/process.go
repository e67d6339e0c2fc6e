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

// Process is a program that runs next to the test, with its output in a file.
type Process struct {
	Name string
	Log  string // file with all output, including earlier runs

	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// Start starts a program. Its environment is CleanEnvironment plus env.
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

// CleanEnvironment returns the environment without settings of OpenTelemetry and corehour.
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

// CPU returns the user and system CPU time of a process that has ended.
func (p *Process) CPU() time.Duration {
	if !p.Ended() {
		return 0
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ExitCode returns the exit code, or -1 while the process runs or if a signal ended it.
func (p *Process) ExitCode() int {
	if !p.Ended() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// Terminate sends SIGTERM and does not wait.
func (p *Process) Terminate() error { return p.cmd.Process.Signal(syscall.SIGTERM) }

// Kill sends SIGKILL and waits. Killing a process that has ended is not an error.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// Wait waits for the end of the process and returns an error unless its exit code is 0.
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

// Stop sends SIGTERM and kills the process if it still runs after patience.
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

// LastLines returns the last n lines of the output.
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
