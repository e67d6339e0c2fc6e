package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// spent is the time used by a command and its child processes, in seconds.
type spent struct{ cpu, wall float64 }

func (s spent) cpuTime() float64  { return s.cpu }
func (s spent) wallTime() float64 { return s.wall }

// seconds returns one of the two times for each element of all.
func seconds(all []spent, what func(spent) float64) []float64 {
	values := make([]float64, len(all))
	for i, s := range all {
		values[i] = what(s)
	}
	return values
}

// timed runs a command in a directory and returns its times.
func timed(dir string, env []string, args ...string) (spent, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	begin := time.Now()
	if text, err := cmd.CombinedOutput(); err != nil {
		return spent{}, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, text)
	}
	return spent{(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), time.Since(begin).Seconds()}, nil
}
