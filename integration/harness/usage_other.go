//go:build !linux

package harness

import (
	"errors"
	"time"
)

var errNoUsage = errors.New("what a process uses is read from /proc, which only Linux has")

// CPUOf returns the user and system CPU time of a running process.
func CPUOf(int) (time.Duration, error) { return 0, errNoUsage }

// MemoryOf returns the resident memory of a running process in bytes. PeakMemoryOf returns its
// maximum so far.
func MemoryOf(int) (int64, error) { return 0, errNoUsage }

func PeakMemoryOf(int) (int64, error) { return 0, errNoUsage }
