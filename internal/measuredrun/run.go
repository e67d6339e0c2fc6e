// Package measuredrun implements `corehour exec`: it runs a program with its own collector and a temporary
// warehouse.
//
// The program is never affected: once it has started, no fault of the collector changes its output, signals or
// exit code. The package does not read the warehouse.
package measuredrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/corehour/corehour/internal/background"
)

// Settings select the program and how it is measured.
type Settings struct {
	Program   []string // with its arguments
	Collector string   // path of the binary
	Warehouse string   // directory that is kept; "" = a temporary one
	Rate      float64  // share of calls timed
}

// Outcome is the outcome of the program. The collector has stopped, with all received data stored.
type Outcome struct {
	ExitCode  int // 128 + the signal that ended it
	Began     time.Time
	Took      time.Duration
	Warehouse string
	Fault     error // fault of the collector: data is missing

	dir     string
	signals chan os.Signal
}

// Exit codes for a program that cannot be started, as in shells and env.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// NotStarted is the error of a program that cannot be started.
type NotStarted struct {
	ExitCode int // 126 or 127
	err      error
}

func (e *NotStarted) Error() string { return e.err.Error() }

func (e *NotStarted) Unwrap() error { return e.err }

func notStarted(program string, err error) *NotStarted {
	var reason *exec.Error
	if errors.As(err, &reason) {
		err = reason.Err
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, exec.ErrDot) || errors.Is(err, fs.ErrNotExist) {
		return &NotStarted{exitNotFound, fmt.Errorf("%s was not found: %w: check its name, or give its path", program, err)}
	}
	return &NotStarted{exitNotExecutable, fmt.Errorf("%s cannot be executed: %w", program, err)}
}

// stopPatience bounds the time for the collector to write its data.
const stopPatience = time.Minute

// Run runs the program with this process's input and output, and forwards signals to it. An error means that
// it was not started. Close the outcome: until then signals do not end this process.
func Run(ctx context.Context, s Settings) (_ *Outcome, err error) {
	path, err := exec.LookPath(s.Program[0])
	if err != nil {
		return nil, notStarted(s.Program[0], err)
	}
	dir, err := os.MkdirTemp("", "corehour-exec-")
	if err != nil {
		return nil, err
	}
	o := &Outcome{dir: dir, Warehouse: cmp.Or(s.Warehouse, filepath.Join(dir, "warehouse")), signals: catchSignals()}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	collector, endpoint, err := o.startCollector(ctx, s.Collector)
	if err != nil {
		return nil, err
	}
	program := exec.Command(path, s.Program[1:]...)
	program.Args[0] = s.Program[0]
	program.Env = Environment(os.Environ(), s.Program[0], endpoint, s.Rate)
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, os.Stdout, os.Stderr
	o.Began = time.Now()
	if err := program.Start(); err != nil {
		return nil, errors.Join(notStarted(s.Program[0], err), background.Stop(stopPatience, collector))
	}
	ended := make(chan struct{})
	go forwardSignals(o.signals, program, ended)
	_ = program.Wait() // the process state has more detail
	close(ended)
	o.ExitCode, o.Took = exitCodeOf(program.ProcessState), time.Since(o.Began)
	if o.Fault = collector.Ended(); o.Fault == nil {
		o.Fault = background.Stop(stopPatience, collector)
	}
	return o, nil
}

// startCollector starts the collector on free ports, and tries again if one is taken meanwhile.
func (o *Outcome) startCollector(ctx context.Context, binary string) (p *background.Process, endpoint string, err error) {
	for range 3 {
		var addresses [2]string
		if addresses, err = freeAddresses(); err != nil {
			return nil, "", err
		}
		const anyPort = "127.0.0.1:0" // unused by the program
		p, err = background.Collector{
			Binary: binary, Dir: o.dir, Log: filepath.Join(o.dir, "collector.log"), LogLevel: "warn", Warehouse: o.Warehouse,
			HTTP: addresses[0], Health: addresses[1], GRPC: anyPort, Rates: anyPort, Metrics: anyPort,
		}.Start(ctx)
		if err == nil || !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) {
			return p, "http://" + addresses[0], err
		}
	}
	return nil, "", err
}

func freeAddresses() (addresses [2]string, err error) {
	for i := range addresses {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return addresses, err
		}
		defer listener.Close()
		addresses[i] = listener.Addr().String()
	}
	return addresses, nil
}

// Close deletes temporary files.
func (o *Outcome) Close() error {
	signal.Stop(o.signals)
	return os.RemoveAll(o.dir)
}
