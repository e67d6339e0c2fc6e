//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// server controls the serving process from the measuring process.
type server struct {
	address string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

func startServer(ctx context.Context, methods int) (*server, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.CommandContext(ctx, own, "--serve", "--methods", strconv.Itoa(methods))}
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewScanner(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if s.address, err = s.line(); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// stop ends the server by closing its input.
func (s *server) stop() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }

func (s *server) line() (string, error) {
	if !s.out.Scan() {
		return "", errors.Join(errors.New("the serving process does not answer"), s.out.Err())
	}
	return s.out.Text(), nil
}

func (s *server) sendCommand(what string) (string, error) {
	if _, err := fmt.Fprintln(s.in, what); err != nil {
		return "", err
	}
	return s.line()
}

// change changes the rates and returns the time of the change.
func (s *server) change() (at int64, err error) {
	line, err := s.sendCommand("change")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(line, 10, 64)
}

// usage contains the resources that the process has used so far.
type usage struct {
	cpu int64 // ns
	rss int64 // current bytes
}

func (s *server) usage() (u usage, err error) {
	line, err := s.sendCommand("usage")
	if err == nil {
		_, err = fmt.Sscan(line, &u.cpu, &u.rss)
	}
	return u, err
}

func usageNow() (usage, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return usage{}, err
	}
	u := usage{cpu: r.Utime.Nano() + r.Stime.Nano()}
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return u, nil // not available on this system: no memory figure
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return usage{}, err
	}
	u.rss = resident * int64(os.Getpagesize())
	return u, nil
}

// freeAddress returns an address with a free port.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
