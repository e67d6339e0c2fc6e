package corehour

import (
	"context"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	exactDrops = NewMethod("exactness.Drops")
	exactRuns  = NewMethod("exactness.Runs")
	exactLate  = NewMethod("exactness.Late")
)

// However many goroutines meet a full queue, each refused record is counted once and added to the sums
// once.
func TestQueue_RefusalCountedOnce(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.queue = 64 })
	force(e, exactDrops, settings{rate: 1, noCaller: true})
	const goroutines, each = 8, 5_000
	before := exactDrops.Calls()
	var taken atomic.Int64
	quit, quitted := make(chan struct{}), make(chan struct{})
	go func() { // a reader, so that the queue is full at times
		defer close(quitted)
		var batch []record
		for {
			batch = e.ring.Dequeue(batch[:0], 8)
			taken.Add(int64(len(batch)))
			select {
			case <-quit:
				return
			default:
			}
		}
	}()
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() {
			for range each {
				exactDrops.Begin().End()
			}
		})
	}
	running.Wait()
	close(quit)
	<-quitted
	for range len(e.ring.Places) - e.ring.Length() + 10 { // and certainly full at the end
		exactDrops.Begin().End()
	}
	calls := exactDrops.Calls() - before
	left := int64(len(e.ring.Dequeue(nil, len(e.ring.Places))))
	s := Stats()
	if s.Dropped < 10 || s.Dropped != s.Folded || s.Dropped+taken.Load()+left != calls || s.Recorded != taken.Load()+left || s.FoldLost != 0 {
		t.Errorf("%d calls: %d taken, %d left; recorded %d, dropped %d, folded %d, lost %d", calls, taken.Load(), left, s.Recorded, s.Dropped, s.Folded, s.FoldLost)
	}
	if inCells := e.cells.measurements(); inCells != s.Folded {
		t.Errorf("%d in cells, %d folded", inCells, s.Folded)
	}
}

// Whether a call is chosen does not depend on earlier choices: the number of runs in the sequence of
// choices is that of independent draws (Wald and Wolfowitz), and so is the number of chosen calls.
func TestSampling_ChoicesIndependent(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.queue = 1 << 17 })
	for _, p := range []float64{0.5, 0.2, 0.02} {
		force(e, exactRuns, settings{rate: p, noCaller: true})
		const n, repeats = 20_000, 4
		sumZ := 0.0
		for repeat := range repeats {
			chosen, runs := 0, 1
			last := false
			for i := range n {
				before := e.ring.Accepted()
				exactRuns.Begin().End()
				is := e.ring.Accepted() > before
				if is {
					chosen++
				}
				if i > 0 && is != last {
					runs++
				}
				last = is
			}
			e.ring.Dequeue(nil, n)
			a, b := float64(chosen), float64(n-chosen)
			mean := 2*a*b/n + 1
			z := (float64(runs) - mean) / math.Sqrt((mean-1)*(mean-2)/(n-1))
			share := (a - n*p) / math.Sqrt(n*p*(1-p))
			if math.Abs(z) > 5.5 || math.Abs(share) > 5.5 {
				t.Errorf("p = %v, repeat %d: %d chosen of %d (z = %.1f) in %d runs (z = %.1f)", p, repeat, chosen, n, share, runs, z)
			}
			sumZ += z
		}
		if z := sumZ / math.Sqrt(repeats); math.Abs(z) > 5.5 {
			t.Errorf("p = %v: runs are off by z = %.1f over all repeats", p, z)
		}
	}
}

// A call that is running at shutdown is counted in the last interval, and ends without harm: its slot and
// thread are freed.
func TestShutdown_MethodRunning(t *testing.T) {
	for _, s := range []settings{
		{rate: 1, noCaller: true}, {rate: 1, cpuRate: 1}, {rate: 0}, {rate: 0.5, tail: true, cpuRate: 1}, {mode: Aggregate, rate: 1, cpuRate: 1}, {mode: Aggregate},
	} {
		for _, restarted := range []bool{false, true} {
			c := &collector{}
			e, stop := start(t, WithHTTPClient(c.client()))
			force(e, exactLate, s)
			before := exactLate.Calls()
			call := exactLate.Begin()
			stop()
			if got := counted(c, t)[exactLate.Name()]; got != 1 {
				t.Errorf("%+v: %d calls in the counts", s, got)
			}
			stopAgain := func(context.Context) error { return nil }
			if restarted {
				var err error
				if stopAgain, err = Start(context.Background(), WithWriter(io.Discard)); err != nil {
					t.Fatal(err)
				}
			}
			call.End()
			if held := cpuSlots.Held(); held != 0 || exactLate.cpu.Held.Load() != 0 {
				t.Errorf("%+v: %d slots held", s, held)
			}
			if calls := exactLate.Calls() - before; calls != 1 {
				t.Errorf("%+v: counted %d times", s, calls)
			}
			if err := stopAgain(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
}
