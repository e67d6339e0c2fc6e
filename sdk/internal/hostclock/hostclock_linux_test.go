package hostclock

import (
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A goroutine keeps its number wherever its stack and its thread go; another one
// has another.
func TestGoroutinesAreToldApart(t *testing.T) {
	mine := Goroutine()
	var grow func(n int) uintptr
	grow = func(n int) uintptr {
		var frame [1024]byte
		if n == 0 {
			return Goroutine() + uintptr(frame[0])
		}
		return grow(n-1) + uintptr(frame[n])
	}
	threads := map[int]bool{}
	for range 200 {
		threads[syscall.Gettid()] = true
		time.Sleep(10 * time.Microsecond)
		runtime.GC()
		if got := grow(50); got != mine {
			t.Fatalf("number %x becomes %x", mine, got)
		}
		if len(threads) > 1 {
			break
		}
	}
	other := make(chan uintptr)
	for range 100 {
		go func() { other <- Goroutine() }()
		if <-other == mine {
			t.Fatal("two living goroutines share a number")
		}
	}
}

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
func TestACoarseClockIsFound(t *testing.T) {
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
func TestAMachineThatIsAwayMakesNoClockCoarse(t *testing.T) {
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

func BenchmarkGoroutine(b *testing.B) {
	for b.Loop() {
		Goroutine()
	}
}
