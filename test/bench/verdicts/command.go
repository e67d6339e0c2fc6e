//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/corehour/corehour/test/sim"
)

// Exit codes of the command.
const (
	nothing = 0
	found   = 1
)

// goals are upper limits of a command's time and memory. Zero means no limit.
type goals struct{ seconds, megabytes float64 }

// command runs corehour on the stored data and adds its duration and peak memory.
func (b *bench) command(ctx context.Context, g goals, on string, least int, args ...string) error {
	b.tell("running corehour %s", args[0])
	c := exec.CommandContext(ctx, b.corehour, append(args, "--format", "json")...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	begin := time.Now()
	if err := c.Start(); err != nil {
		return err
	}
	memory := watchMemory(c.Process.Pid)
	err := c.Wait()
	seconds := time.Since(begin).Seconds()
	megabytes := memory()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	if code := c.ProcessState.ExitCode(); !slices.Contains([]int{least, found}, code) {
		return fmt.Errorf("%s %s ended with status %d: %s", b.corehour, args[0], code, stderr.String())
	}
	name := "corehour " + args[0] + " on " + on
	b.lower(name, seconds, "s", orNone(g.seconds))
	b.lower(name+", CPU", (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), "CPU-s", sim.None)
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok && megabytes == 0 {
		kilobyte := 1024.0
		if runtime.GOOS == "darwin" {
			kilobyte = 1 // macOS reports bytes
		}
		megabytes = float64(usage.Maxrss) * kilobyte / 1e6
	}
	b.lower(name+", greatest memory", megabytes, "MB", orNone(g.megabytes))
	return nil
}

// watchMemory polls the peak memory of a process on Linux. The returned function stops polling and returns the peak
// in MB, or 0 if it is unknown. It is more exact than Maxrss of the ended process, which is never below the
// memory of the process that started it.
func watchMemory(pid int) (greatest func() float64) {
	stop, result := make(chan struct{}), make(chan float64)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		megabytes := 0.0
		for {
			if m := highWater(pid); m > 0 {
				megabytes = m
			}
			select {
			case <-stop:
				result <- megabytes
				return
			case <-tick.C:
			}
		}
	}()
	return func() float64 {
		close(stop)
		return <-result
	}
}

// highWater returns the peak memory of a process, or 0 if it is unknown.
func highWater(pid int) (megabytes float64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes float64
	if _, err := fmt.Sscanf(after, "%f kB", &kilobytes); err != nil {
		return 0
	}
	return kilobytes * 1024 / 1e6
}

func orNone(goal float64) float64 {
	if goal == 0 {
		return sim.None
	}
	return goal
}
