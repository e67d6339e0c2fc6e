//go:build unix

package adaptivesampler

import (
	"syscall"
	"testing"
	"time"
)

// processCPU returns the CPU time of this process so far, as accounted by the kernel.
func processCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
