package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// process is a part that runs next to the demo, its output in a log file.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error
}

func (r *run) start(name string, env []string, binary string, args ...string) (*process, error) {
	log, err := os.Create(r.path("logs", name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: name, log: log.Name(), done: make(chan struct{}), cmd: exec.Command(binary, args...)}
	p.cmd.Env = append(cleanEnvironment(os.Environ()), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	dieWithParent(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	r.processes = append(r.processes, p)
	return p, nil
}

// cleanEnvironment keeps settings of the user's own services out of the demo's.
func cleanEnvironment(env []string) []string {
	var kept []string
	for _, entry := range env {
		if !strings.HasPrefix(entry, "OTEL_") && !strings.HasPrefix(entry, "COREHOUR_") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// ended is an error once the process has ended, whatever its exit code: none of
// them is to end before it is asked to.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended by itself (%s); its last lines, of %s:\n%s", p.name, p.cmd.ProcessState, p.log, lastLines(p.log, 8))
	default:
		return nil
	}
}

// stop asks processes to end and waits; one that does not listen is killed.
func (r *run) stop(processes ...*process) error {
	for _, p := range processes {
		terminate(p.cmd)
	}
	var faults []error
	patience := time.NewTimer(r.Patience)
	defer patience.Stop()
	for _, p := range processes {
		select {
		case <-p.done:
		case <-patience.C:
			_ = p.cmd.Process.Kill()
			<-p.done
			faults = append(faults, fmt.Errorf("%s did not stop within %s and was killed", p.name, r.Patience))
			continue
		}
		// The job tells what it found by its exit code: 1 is a regression.
		if code := p.cmd.ProcessState.ExitCode(); code != 0 && (p.name != "regress" || code != 1) {
			faults = append(faults, fmt.Errorf("%s failed (%s); its last lines, of %s:\n%s", p.name, p.cmd.ProcessState, p.log, lastLines(p.log, 8)))
		}
	}
	return errors.Join(faults...)
}

// stopAll leaves no process behind.
func (r *run) stopAll() error {
	var running []*process
	for i := len(r.processes) - 1; i >= 0; i-- { // the collector last
		select {
		case <-r.processes[i].done:
		default:
			running = append(running, r.processes[i])
		}
	}
	return r.stop(running...)
}

// output runs one of the parts to its end.
func (r *run) output(ctx context.Context, binary string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = cleanEnvironment(os.Environ())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w: %s", strings.Join(append([]string{binary}, args...), " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

func (r *run) awaitHealth(ctx context.Context, p *process) error {
	deadline := time.Now().Add(startPatience)
	for time.Now().Before(deadline) {
		if err := r.wait(ctx, 200*time.Millisecond, p); err != nil {
			return err
		}
		if err := p.ended(); err != nil {
			return err
		}
		answer, err := http.Get("http://" + r.Health)
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("the collector was not ready within %s: see %s", startPatience, p.log)
}

// freePort says who has to give way when an address can't be listened on.
func freePort(flag, address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%s %s can't be used: %w; stop what listens there, or choose another address with %s", flag, address, err, flag)
	}
	return listener.Close()
}

func lastLines(path string, n int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-n):], "\n  ")
}
