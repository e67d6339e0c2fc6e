//go:build unix

package adaptivesampler

import (
	"syscall"
	"testing"
	"time"
)

// processCPU is the CPU time of this process so far, by the kernel's accounting.
func processCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
