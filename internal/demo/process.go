package demo

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"

	"github.com/corehour/corehour/internal/background"
)

func (r *run) start(name string, env []string, binary string, args ...string) (*background.Process, error) {
	return r.started(background.Start(name, r.path("logs", name+".log"), env, binary, args...))
}

// started records a process to be stopped at the end.
func (r *run) started(p *background.Process, err error) (*background.Process, error) {
	if err == nil {
		r.processes = append(r.processes, p)
	}
	return p, err
}

func (r *run) stop(processes ...*background.Process) error {
	return background.Stop(r.Patience, processes...)
}

// stopAll leaves no process behind.
func (r *run) stopAll() error {
	var running []*background.Process
	for i := len(r.processes) - 1; i >= 0; i-- { // the collector last
		if r.processes[i].Running() {
			running = append(running, r.processes[i])
		}
	}
	return r.stop(running...)
}

// output runs one of the parts to its end.
func (r *run) output(ctx context.Context, binary string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(background.Environment(), "OTEL_SDK_DISABLED=true") // the shop measures the change alone
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w: %s", strings.Join(append([]string{binary}, args...), " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

// freePort returns an error that names the settings to change if an address is in use.
func freePort(flag, address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%s %s can't be used: %w; stop what listens there, or choose another address with %s", flag, address, err, flag)
	}
	return listener.Close()
}
