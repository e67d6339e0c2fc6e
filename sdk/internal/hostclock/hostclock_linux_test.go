package hostclock

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// The thread's clock shows what the thread spends, and not what it sleeps.
func TestThreadCPU(t *testing.T) {
	if !ThreadCPUAvailable() {
		t.Fatal("no thread clock on Linux")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	wall, cpu := Now(), ThreadCPU()
	for ThreadCPU()-cpu < int64(2*time.Millisecond) {
	}
	if spent := Now() - wall; spent < int64(2*time.Millisecond)*999/1000 {
		t.Errorf("2 ms of CPU in %s", time.Duration(spent))
	}
	// Where a host takes the processor away just before or after the sleep, the
	// clock may go on: not every time.
	least := time.Hour
	for try := 0; try < 5 && least > 5*time.Millisecond; try++ {
		cpu = ThreadCPU()
		time.Sleep(20 * time.Millisecond)
		least = min(least, time.Duration(ThreadCPU()-cpu))
	}
	if least > 5*time.Millisecond {
		t.Errorf("%s of CPU while asleep", least)
	}
}

func TestProcess(t *testing.T) {
	before, ok := ProcessCPU()
	if !ok {
		t.Fatal("no process clock")
	}
	thread := func() { // more than a tick of the kernel's accounting
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for start := ThreadCPU(); ThreadCPU()-start < int64(30*time.Millisecond); {
		}
	}
	thread()
	after, _ := ProcessCPU()
	if spent := time.Duration(after - before); spent < 15*time.Millisecond {
		t.Errorf("%s of the process for 30 ms of a thread", spent)
	}
	if rss, ok := ProcessRSS(); !ok || rss < 1<<20 {
		t.Errorf("resident: %d bytes, %t", rss, ok)
	}
}

// A clock that moves in steps of milliseconds is no clock for methods.
func TestFinestStep_CoarseClock(t *testing.T) {
	coarse := func() int64 { return Now() / 1_000_000 * 1_000_000 }
	if step := finestStep(coarse, 5*time.Millisecond); step < coarsestStep {
		t.Errorf("a step of %s found in a clock of milliseconds", step)
	}
	if step := finestStep(func() int64 { return 7 }, time.Millisecond); step < coarsestStep {
		t.Errorf("a step of %s found in a clock that stands", step)
	}
	if step := finestStep(Now, 5*time.Millisecond); step >= coarsestStep {
		t.Errorf("no step below %s found in a fine clock", step)
	}
}

// A machine that is away while the clock is looked at makes no clock coarse: its
// absence is one step, however long.
func TestFinestStep_SuspendedMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		readings, shown := 0, int64(0)
		fine := func() int64 {
			readings++
			if shown += 300; readings <= 3 {
				shown += int64(2 * coarsestStep)
				time.Sleep(time.Second)
			}
			return shown
		}
		if step := finestStep(fine, 20*time.Millisecond); step >= coarsestStep {
			t.Errorf("no step below %s found", step)
		}
	})
}
