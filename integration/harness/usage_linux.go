package harness

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// CPUOf returns the user and system CPU time of a running process.
func CPUOf(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ") // the name can contain spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	const ticksPerSecond = 100 // USER_HZ, the same on every Linux
	return time.Duration(user+system) * time.Second / ticksPerSecond, errors.Join(err1, err2)
}

// MemoryOf returns the resident memory of a running process in bytes. PeakMemoryOf returns its
// maximum so far.
func MemoryOf(pid int) (int64, error) { return statusOf(pid, "VmRSS:") }

func PeakMemoryOf(pid int) (int64, error) { return statusOf(pid, "VmHWM:") }

func statusOf(pid int, field string) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("/proc has no " + field)
}
