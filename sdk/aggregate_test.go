package corehour

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var aggregated = NewMethod("aggregated.Calls")

// Mode Aggregate times every call. Chosen calls have caller and CPU. A change of mode or rate in
// between loses no call.
func TestAggregate_TimesEveryCall(t *testing.T) {
	e, _ := startWith(t, func(c *config) {})
	const goroutines, each = 8, 5000
	var running sync.WaitGroup
	quit := make(chan struct{})
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			default:
				force(e, aggregated, settings{mode: Aggregate, rate: []float64{0, 0.1, 0.5}[i%3], cpuRate: 1})
				e.cut(e.unix(now()), false)
			}
		}
	}()
	force(e, aggregated, settings{mode: Aggregate, rate: 0.1, cpuRate: 1})
	var calls, timed, withCaller, withCPU int64
	add := func() {
		for cells := e.cells.removeCells(100); len(cells) > 0; cells = e.cells.removeCells(100) {
			for _, c := range cells {
				timed += c.wall.n
				withCPU += c.cpu.n
				if c.caller != nil {
					withCaller += c.wall.n
				}
				if c.p != 1 || c.cpu.n > 0 && !(c.cpuP > 0 && c.cpuP <= 0.5) {
					t.Errorf("cell of p %v, cpu_p %v, %d with CPU", c.p, c.cpuP, c.cpu.n)
				}
			}
		}
	}
	// On a busy machine all calls of a round can fall into the time at rate 0.
	for round := 0; round < 50 && (withCaller == 0 || withCPU == 0 && e.threadClock); round++ {
		for range goroutines {
			running.Go(func() {
				for range each {
					aggregated.Begin().End()
				}
			})
		}
		running.Wait()
		calls += goroutines * each
		add()
	}
	close(quit)
	<-changed
	e.cut(e.unix(now()), false)
	add()
	if timed != calls || e.cells.lost != 0 {
		t.Errorf("%d timed of %d, %d lost", timed, calls, e.cells.lost)
	}
	if withCaller == 0 || withCPU == 0 && e.threadClock || withCaller == timed {
		t.Errorf("%d with caller, %d with CPU of %d", withCaller, withCPU, timed)
	}
}

// A call belongs to the minute in which it began, even if it ends in another one.
func TestAggregate_CellWithinMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := startWith(t, func(c *config) {})
		force(e, aggregated, settings{mode: Aggregate, rate: 0, noCaller: true})
		begun := map[int64]int64{}
		call := func(lasting time.Duration) {
			begun[minuteOf(time.Now().UnixNano())]++
			c := aggregated.Begin()
			time.Sleep(lasting)
			c.End()
		}
		for range 3 {
			for range 5 {
				call(10 * time.Second)
			}
			call(25 * time.Second) // into the next minute
			e.cut(floor(e.unix(now()), minuteNS), false)
		}
		e.cut(e.unix(now()), true)
		got := map[int64]int64{}
		for _, c := range e.cells.removeCells(100) {
			got[c.minute] += c.wall.n
			if minuteOf(c.first) != c.minute || minuteOf(c.last) != c.minute {
				t.Errorf("a cell of minute %d from %d to %d", c.minute, c.first, c.last)
			}
		}
		if len(got) != len(begun) {
			t.Errorf("cells of %d minutes, calls in %d", len(got), len(begun))
		}
		for minute, n := range begun {
			if got[minute] != n {
				t.Errorf("minute %d: %d calls in cells, %d begun", minute, got[minute], n)
			}
		}
	})
}
