// Package background runs corehour's own programs in the background of a command: a collector, and
// the programs of a demo. Their output goes to log files, they end with the command, and they do
// not get the OTEL_ and COREHOUR_ settings of the user. It does not run programs of the user.
package background

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Process is a program that runs in the background and writes its output to a log file.
type Process struct {
	Name string
	Log  string
	// MayFind accepts exit code 1, with which `corehour regress` reports a regression.
	MayFind bool

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// lastLines is how many lines of a log an error contains.
const lastLines = 8

// Binary returns the path of one of our programs, or an error if it is not in the directory.
func Binary(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not in %s: build it with `make build`, or set its directory with --bin", name, dir)
	}
	return path, nil
}

// Start starts a program with env in addition to the environment, its output in a file log.
func Start(name, log string, env []string, binary string, args ...string) (*Process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &Process{Name: name, Log: log, done: make(chan struct{}), cmd: exec.Command(binary, args...)}
	p.cmd.Env = append(Environment(), env...)
	p.cmd.Stdout, p.cmd.Stderr = file, file
	dieWithParent(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState has the details
		close(p.done)
	}()
	return p, nil
}

// Environment returns the environment of this process without OTEL_ and COREHOUR_ variables.
func Environment() []string { return cleanEnvironment(os.Environ()) }

func cleanEnvironment(env []string) []string {
	var kept []string
	for _, entry := range env {
		if !strings.HasPrefix(entry, "OTEL_") && !strings.HasPrefix(entry, "COREHOUR_") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Ended returns an error if the process has ended, whatever its exit code: no process ends before
// it is stopped.
func (p *Process) Ended() error {
	if p.Running() {
		return nil
	}
	return p.fault("ended by itself")
}

// Stop asks processes to end and waits for them. It kills those that run longer than patience.
func Stop(patience time.Duration, processes ...*Process) error {
	for _, p := range processes {
		terminate(p.cmd)
	}
	var faults []error
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for _, p := range processes {
		select {
		case <-p.done:
		case <-timer.C:
			_ = p.cmd.Process.Kill()
			<-p.done
			faults = append(faults, fmt.Errorf("%s did not stop within %s and was killed", p.Name, patience))
			continue
		}
		if code := p.cmd.ProcessState.ExitCode(); code != 0 && (code != 1 || !p.MayFind) {
			faults = append(faults, p.fault("failed"))
		}
	}
	return errors.Join(faults...)
}

// fault returns an error with the message that the process ended with, or else the last lines of
// its log.
func (p *Process) fault(what string) error {
	data, err := os.ReadFile(p.Log)
	if err != nil {
		return fmt.Errorf("%s %s (%s): %w", p.Name, what, p.cmd.ProcessState, err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if reason, ok := strings.CutPrefix(lines[len(lines)-1], "Error: "); ok {
		return fmt.Errorf("%s %s (%s): %s", p.Name, what, p.cmd.ProcessState, reason)
	}
	return fmt.Errorf("%s %s (%s); its last lines, of %s:\n  %s", p.Name, what, p.cmd.ProcessState, p.Log,
		strings.Join(lines[max(0, len(lines)-lastLines):], "\n  "))
}
