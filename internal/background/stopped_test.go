package background

import (
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// A process that was stopped by a signal still ends when it is asked to.
func TestStop_SuspendedProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are continued on Linux only")
	}
	p, err := Start("sleeper", filepath.Join(t.TempDir(), "log"), nil, "/bin/sh", "-c", `trap "exit 0" TERM; while :; do sleep 0.05; done`)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // it sets the trap
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := Stop(20*time.Second, p); err != nil || time.Since(begin) > 10*time.Second {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
}
