package corehour

import (
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corehour/corehour/sdk/internal/cpuslots"
	"github.com/corehour/corehour/sdk/internal/hostclock"
)

var truth = NewMethod("truth.Method")

// burn uses the given CPU time on its goroutine, whatever the wall time. It works in pieces that are short
// compared to a time slice, and counts only the thread's clock: a goroutine that is locked to its thread
// has that clock for itself.
func burn(cpu time.Duration) time.Duration {
	start := hostclock.ThreadCPU()
	for {
		if used := time.Duration(hostclock.ThreadCPU() - start); used >= cpu {
			return used
		}
	}
}

// burnLocked is burn for a call that the probe may not lock: its result is true on a busy machine, too,
// which moves goroutines.
func burnLocked(cpu time.Duration) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return burn(cpu)
}

// CPU time is true in every situation in which the thread's clock would be wrong for a goroutine that can
// move: sleep, channels, blocking system calls, and spinning among others.
func TestCPU_True(t *testing.T) {
	e, _ := startWith(t, func(c *config) {})
	force(e, truth, settings{rate: 1, cpuRate: 1})
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	scenarios := map[string]func() time.Duration{
		"sleep": func() time.Duration {
			used := burn(time.Millisecond)
			time.Sleep(5 * time.Millisecond)
			return used + burn(time.Millisecond)
		},
		"channels": func() time.Duration {
			there, back := make(chan int), make(chan int)
			go func() {
				for x := range there {
					for s := time.Now(); time.Since(s) < 100*time.Microsecond; {
					}
					back <- x
				}
			}()
			used := burn(time.Millisecond)
			for i := range 20 {
				there <- i
				<-back
			}
			close(there)
			return used + burn(time.Millisecond)
		},
		"system call": func() time.Duration {
			used := burn(time.Millisecond)
			go func() {
				time.Sleep(3 * time.Millisecond)
				writer.Write([]byte{1})
			}()
			reader.Read(make([]byte, 1))
			return used + burn(time.Millisecond)
		},
		"no wait": func() time.Duration { return burn(2 * time.Millisecond) },
		"spin":    func() time.Duration { return burn(15 * time.Millisecond) },
	}
	for name, work := range scenarios {
		var others sync.WaitGroup
		quit := make(chan struct{})
		for range 2 * runtime.GOMAXPROCS(0) {
			others.Go(func() {
				for {
					select {
					case <-quit:
						return
					default:
						burnFreely()
					}
				}
			})
		}
		truth.lastCPU.Store(0) // a method without short calls keeps every CPU time
		var apart []time.Duration
		untrusted := 0
		const repeats = 8
		for range repeats {
			var inside time.Duration
			used := timed(func() time.Duration {
				// The test locks the thread itself, so the thread's clock is true whatever the
				// probe does.
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				start := hostclock.ThreadCPU()
				used := work()
				inside = time.Duration(hostclock.ThreadCPU() - start)
				return used
			})
			r := e.ring.Dequeue(nil, 1)
			if len(r) == 1 && r[0].state == cpuUntrusted {
				untrusted++
				continue
			}
			if len(r) != 1 || r[0].state != cpuExact {
				t.Fatalf("%s: records %+v", name, r)
			}
			cpu := time.Duration(r[0].cpu)
			if cpu < used || cpu < inside {
				t.Errorf("%s: %s of CPU recorded, %s burnt, %s by the thread's clock", name, cpu, used, inside)
			}
			if r[0].cpu > r[0].wall {
				t.Errorf("%s: CPU %d, wall %d", name, r[0].cpu, r[0].wall)
			}
			// Between the readings of the probe and those of the test are four readings and a few
			// calls.
			apart = append(apart, cpu-inside-inside/100-8*costOfReading())
		}
		close(quit)
		others.Wait()
		// Readings are untrusted where a host takes the processor away, which is rare.
		if untrusted > repeats/4 {
			t.Errorf("%s: %d of %d calls have no CPU time that is trusted", name, untrusted, repeats)
			continue
		}
		// A thread that loses its processor at this point pays for it, which is rare, too.
		slices.Sort(apart)
		if off := apart[len(apart)*3/4-1]; off > 2500*time.Nanosecond {
			t.Errorf("%s: CPU recorded is off by %s more than is tolerable: %s", name, off, apart)
		}
	}
}

// costOfReading returns the current cost of a reading of the thread's clock.
func costOfReading() time.Duration {
	const readings = 2000
	runtime.LockOSThread() // because every thread has its own clock
	defer runtime.UnlockOSThread()
	start := hostclock.ThreadCPU()
	for range readings - 1 {
		hostclock.ThreadCPU()
	}
	return time.Duration(hostclock.ThreadCPU()-start) / readings
}

func burnFreely() {
	for s := time.Now(); time.Since(s) < 200*time.Microsecond; {
	}
}

func timed(work func() time.Duration) time.Duration {
	defer truth.Begin().End()
	return work()
}

// Many waiting calls make slots scarce. Refusals must not favour cheap or expensive calls: weighted by
// their probabilities, half of the records belong to expensive calls, as half of the calls do.
func TestCPU_ScarceSlotsUnbiased(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.queue = 1 << 14 })
	force(e, truth, settings{rate: 1, cpuRate: 1, noCaller: true})
	const cheap, expensive, between = 10 * time.Microsecond, 400 * time.Microsecond, 100 * time.Microsecond
	var taken expensiveShare
	calls := 0
	// A busy machine makes records scarce, too: then it takes more rounds.
	for round := 0; round < 6 && !(taken.uncertain() < 0.04); round++ {
		var running sync.WaitGroup
		for g := range 40 {
			running.Go(func() {
				for i := range 200 {
					timed(func() time.Duration {
						if (i+g)%2 == 0 {
							return burnLocked(cheap)
						}
						spent := burnLocked(expensive)
						time.Sleep(2 * time.Millisecond) // a slot is held, for an expensive call
						return spent
					})
				}
			})
		}
		running.Wait()
		calls += 40 * 200
		for _, r := range e.ring.Dequeue(nil, 1<<14) {
			if r.state == cpuExact {
				taken.addRecord(time.Duration(r.cpu) > between, 1/(r.p()*r.cpuP()))
			}
		}
	}
	if taken.records > calls/2 || taken.records < calls/50 {
		t.Errorf("%d of %d calls have CPU time: slots were not scarce, or nearly nothing", taken.records, calls)
	}
	// A cheap call counts as expensive if another machine on the host had its processor meanwhile.
	off, uncertain := taken.share()-0.5, taken.uncertain()
	if math.Abs(off) > 0.01+5*uncertain || !(uncertain < 0.1) {
		t.Errorf("the share of expensive calls is off by %.3f, standard error %.3f", off, uncertain)
	}
}

// expensiveShare estimates the share of expensive calls by weighted records.
type expensiveShare struct {
	records                                   int
	expensive, all, expensiveSquares, squares float64
}

func (d *expensiveShare) addRecord(isExpensive bool, weight float64) {
	d.records++
	d.all += weight
	d.squares += weight * weight
	if isExpensive {
		d.expensive += weight
		d.expensiveSquares += weight * weight
	}
}

func (d *expensiveShare) share() float64 { return d.expensive / d.all }

// uncertain returns the standard error of the share, a ratio of two sums.
func (d *expensiveShare) uncertain() float64 {
	s := d.share()
	return math.Sqrt((1-2*s)*d.expensiveSquares+s*s*d.squares) / d.all
}

// Wall time is read outside CPU time, so it is never shorter.
func TestCPU_AtMostWall(t *testing.T) {
	e, _ := startWith(t, func(c *config) {})
	force(e, truth, settings{rate: 1, cpuRate: 1})
	checked, zeros := 0, 0
	for i := range 20_000 {
		steps := 100 * (i % 50)
		x := uint64(i)
		call := truth.Begin()
		for range steps {
			x = x*6364136223846793005 + 1442695040888963407
		}
		call.End()
		runtime.KeepAlive(x)
		for _, r := range e.ring.Dequeue(nil, 1) {
			checked++
			if r.state == cpuExact && (r.cpu > r.wall || r.cpu < 0) {
				t.Fatalf("CPU %d, wall %d", r.cpu, r.wall)
			}
			// The cost of reading the clocks is subtracted, so the shortest calls can be 0. A kernel that
			// subtracts stolen time can subtract a short call with it.
			if r.state == cpuExact && r.cpu == 0 && steps >= 1000 {
				zeros++
			}
		}
	}
	if checked != 20_000 || zeros > checked/100 {
		t.Errorf("%d records, %d of no CPU at all", checked, zeros)
	}
}

// A call that ends on another goroutine has no CPU time, and leaves the lock of the first goroutine
// unchanged. That goroutine is dead here, and its thread is gone: in hundreds of rounds the runtime reuses
// its structures.
func TestEnd_OtherGoroutineUntrusted(t *testing.T) {
	e, _ := startWith(t, func(c *config) {})
	force(e, truth, settings{rate: 1, cpuRate: 1, noCaller: true})
	byEitherID(t, func(t *testing.T) {
		for range 3000 {
			before := runtime.NumGoroutine()
			began := make(chan Call)
			go func() { began <- truth.Begin() }()
			call := <-began
			for runtime.NumGoroutine() > before {
				runtime.Gosched()
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				call.End()
			}()
			<-ended
			r := e.ring.Dequeue(nil, 2)
			if len(r) != 1 || r[0].state != cpuUntrusted || r[0].cpu != 0 || r[0].wall <= 0 {
				t.Fatalf("records %+v", r)
			}
			if lost := giveBackLost(truth); lost != 1 {
				t.Fatalf("%d slots lost", lost)
			}
		}
		if held := cpuSlots.Held(); held != 0 {
			t.Errorf("%d slots held", held)
		}
	})
}

// giveBackLost releases the slots lost by calls that ended elsewhere, and returns their number. A test can
// do that once their first goroutines and threads are gone and no other call has a slot.
func giveBackLost(m *Method) (lost int64) {
	lost = cpuSlots.Lost.Load()
	cpuSlots, m.cpu = cpuslots.Table[Method]{}, cpuslots.Holder{}
	return lost
}

// A call that ends elsewhere loses its slot together with its thread, so the number of both is bounded.
// The method is timed by the wall from then on, which is logged, also after a restart.
func TestEnd_OtherGoroutineLosesSlot(t *testing.T) {
	strayed := NewMethod("truth.Strayed", Rate(1), CPURate(1))
	said := hear(t)
	var living sync.WaitGroup
	quit := make(chan struct{})
	t.Cleanup(func() {
		close(quit)
		living.Wait()
		giveBackLost(strayed)
	})
	elsewhere := func(calls int) (states map[cpuState]int, stats Snapshot) {
		e, _ := startWith(t, func(c *config) {})
		defer e.shutdownForTest()
		all := make(chan Call, calls)
		for range calls {
			began := make(chan struct{})
			living.Go(func() {
				all <- strayed.Begin()
				close(began)
				<-quit
			})
			<-began
		}
		for range calls {
			(<-all).End()
		}
		strayed.Begin().End()
		states = map[cpuState]int{}
		for _, r := range e.ring.Dequeue(nil, 2*calls) {
			states[r.state]++
		}
		e.disableCPUOfStrays()
		return states, Stats()
	}
	states, stats := elsewhere(200)
	lost := states[cpuUntrusted]
	if lost < 1 || lost > cpuslots.Most/8 || states[cpuExact] != 0 {
		t.Errorf("states of calls: %v", states)
	}
	if stats.CPUSlotsHeld != lost || stats.CPUSlotsLost != int64(lost) || stats.CPUWallOnly != 1 {
		t.Errorf("%d lost: stats %+v", lost, stats)
	}
	states, stats = elsewhere(50)
	if states[cpuNotSampled] != 51 || stats.CPUSlotsHeld != lost || stats.CPUWallOnly != 1 {
		t.Errorf("after a restart: states %v, stats %+v", states, stats)
	}
	if said := said(); strings.Count(said, "truth.Strayed") != 1 || !strings.Contains(said, "ended on another goroutine") {
		t.Errorf("said %q", said)
	}
}

// A call that ends on its goroutine has CPU time, and its thread is free afterwards, wherever the
// goroutine has been in between.
func TestEnd_SameGoroutineTrusted(t *testing.T) {
	e, _ := startWith(t, func(c *config) {})
	force(e, truth, settings{rate: 1, cpuRate: 1, noCaller: true})
	byEitherID(t, func(t *testing.T) {
		const calls = 100
		exact := 0
		for range calls {
			done := make(chan struct{})
			go func() {
				defer close(done)
				used := timed(func() time.Duration { runtime.Gosched(); return burn(20 * time.Microsecond) })
				for _, r := range e.ring.Dequeue(nil, 2) {
					if r.state == cpuExact && r.cpu >= int64(used) {
						exact++
					}
				}
			}()
			<-done
		}
		// Readings are untrusted where a host takes the processor away.
		if exact < calls/2 {
			t.Errorf("%d of %d calls have their CPU time", exact, calls)
		}
	})
}

// byEitherID runs a test with both ways to find the goroutine id.
func byEitherID(t *testing.T, f func(t *testing.T)) {
	t.Run("found", f)
	t.Run("written", func(t *testing.T) {
		defer hostclock.ForgetPlace()()
		f(t)
	})
}

// Every lock has its unlock: a goroutine that the program locked stays locked after a timed call, and any
// other is free.
func TestCPU_ThreadLockMatched(t *testing.T) {
	e, _ := startWith(t, func(c *config) {})
	force(e, truth, settings{rate: 1, cpuRate: 1})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadID()
	truth.Begin().End()
	for range 50 {
		burnFreely()
		runtime.Gosched()
		if threadID() != before {
			t.Fatal("the program's own lock was undone")
		}
	}
}
