//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/corehour/corehour/regression/sim"
)

// Exit codes of the command: what was found.
const (
	nothing = 0
	found   = 1
)

// goals are limits of a command's time and memory; zero is none.
type goals struct{ seconds, megabytes float64 }

// command runs corehour on what is stored and notes how long it takes and how much
// memory it needs at most.
func (b *bench) command(ctx context.Context, g goals, on string, least int, args ...string) error {
	b.tell("running corehour %s", args[0])
	c := exec.CommandContext(ctx, b.corehour, append(args, "--format", "json")...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	begin := time.Now()
	err := c.Run()
	seconds := time.Since(begin).Seconds()
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
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		kilobyte := 1024.0
		if runtime.GOOS == "darwin" {
			kilobyte = 1 // there it is in bytes
		}
		b.lower(name+", greatest memory", float64(usage.Maxrss)*kilobyte/1e6, "MB", orNone(g.megabytes))
	}
	return nil
}

func orNone(goal float64) float64 {
	if goal == 0 {
		return sim.None
	}
	return goal
}
