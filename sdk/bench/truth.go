package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/corehour/corehour/sdk"
	"github.com/corehour/corehour/test/figures"
)

// truthSlack is the allowed difference between the SDK's readings of the thread's clock and those inside the
// method, where the readings around it do not decide: stolen time of the whole machine is on the thread's clock.
const truthSlack = 100 * time.Microsecond

// spent is the CPU time of a call by the thread's clock, read inside and outside of the SDK's readings; -1:
// the goroutine changed its thread.
type spent struct{ inside, around time.Duration }

// agrees reports whether the SDK's reading can be true. A reading above the wall time is cut to it, by the
// small difference of the kernel's two clocks.
func (s spent) agrees(cpu time.Duration) bool {
	return s.inside >= 0 && cpu >= s.inside-s.inside/1000-time.Microsecond && (cpu <= s.inside+truthSlack || cpu <= s.around)
}

// truth checks that CPU times marked exact are so, while goroutines that spin take
// the processors from methods that spin, sleep, or block in the kernel. Each method
// is called once and reads the clock of its thread for itself.
func truth(report *figures.Run) error {
	const calls, callers = 240, 16
	var printed bytes.Buffer
	shutdown, err := corehour.Start(context.Background(), corehour.WithWriter(&printed), corehour.WithService("bench", "1"))
	if err != nil {
		return err
	}
	methods := make([]*corehour.Method, calls)
	for i := range methods {
		methods[i] = corehour.NewMethod(fmt.Sprintf("bench.truth%03d", i), corehour.Rate(1), corehour.CPURate(1), corehour.NoCaller())
	}
	used := make([]spent, calls)
	var next, over atomic.Int64
	var running, spinning sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		spinning.Go(func() {
			for over.Load() == 0 {
				_ = spin(1000)
			}
		})
	}
	for range callers {
		running.Go(func() {
			for i := next.Add(1) - 1; i < calls; i = next.Add(1) - 1 {
				used[i] = truthful(methods[i], int(i))
			}
		})
	}
	running.Wait()
	over.Store(1)
	spinning.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := shutdown(ctx); err != nil {
		return err
	}

	exact, wrong := 0, 0
	for line := range strings.Lines(printed.String()) {
		var i int
		_, rest, found := strings.Cut(line, " method=bench.truth")
		if !found || !strings.HasPrefix(line, "corehour call ") {
			continue
		}
		if _, err := fmt.Sscanf(rest, "%d", &i); err != nil {
			return err
		}
		_, rest, _ = strings.Cut(rest, " cpu=")
		value, _, _ := strings.Cut(rest, " ")
		cpu, err := time.ParseDuration(value)
		if err != nil {
			continue // a state instead of a value
		}
		exact++
		if !used[i].agrees(cpu) {
			wrong++
		}
	}
	if exact == 0 {
		return fmt.Errorf("no CPU time is marked exact in %d calls", calls)
	}
	report.Add("CPU times marked exact, of 240 calls", float64(exact), "", figures.Higher, nil)
	report.Add("of them false", float64(wrong), "", figures.Lower, figures.Goal(0))
	return nil
}

func truthful(m *corehour.Method, i int) spent {
	thread, begin := syscall.Gettid(), threadCPU()
	inside := timedTruth(m, i)
	around := time.Duration(threadCPU() - begin)
	if syscall.Gettid() != thread {
		around = -1
	}
	return spent{inside, around}
}

func timedTruth(m *corehour.Method, i int) time.Duration {
	defer m.Begin().End()
	thread, begin := syscall.Gettid(), threadCPU()
	switch i % 3 {
	case 0:
		_ = spin(1_000_000)
	case 1:
		time.Sleep(2 * time.Millisecond)
	case 2:
		pause := syscall.NsecToTimespec(int64(2 * time.Millisecond))
		_ = syscall.Nanosleep(&pause, nil) // a signal of the scheduler may cut it short, which does not matter
	}
	_ = spin(10_000)
	end := threadCPU()
	if syscall.Gettid() != thread {
		return -1
	}
	return time.Duration(end - begin)
}

// spin uses the processor for about a nanosecond a step.
//
//go:noinline
func spin(steps int) uint64 {
	x := uint64(88172645463325252)
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
