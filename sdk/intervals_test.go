package corehour

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/corehour/corehour/sdk/internal/hostclock"
)

var paced = NewMethod("paced.Method", Rate(0))

// Counts leave on the clock: aligned intervals that never cross a minute, each with its calls; the last
// one is marked final.
func TestIntervals_Aligned(t *testing.T) {
	for _, interval := range []time.Duration{time.Minute, 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c := &collector{}
			time.Sleep(7 * time.Second) // the bubble begins at midnight; a program does not
			began := time.Now()
			_, stop := start(t, WithHTTPClient(c.client()), WithInterval(interval))
			made := int64(0)
			for range 200 {
				time.Sleep(time.Second - time.Millisecond)
				paced.Begin().End()
				made++
			}
			stop()
			ended := time.Now()
			spans := c.spans(t, "counts")
			processes := c.spans(t, "process")
			if len(processes) != len(spans) {
				t.Errorf("%d process spans and %d counts spans", len(processes), len(spans))
			}
			total := int64(0)
			at := began.UnixNano()
			for i, s := range spans {
				calls := s.attrs["corehour.counts.calls"].([]any)[0].(int64)
				total += calls
				last := i == len(spans)-1
				if s.start != at || (s.end%int64(interval) != 0) != last || s.end-s.start > int64(interval) {
					t.Errorf("interval %d from %s to %s, want it to begin at %s", i, clock(s.start), clock(s.end), clock(at))
				}
				if rate := float64(calls) / time.Duration(s.end-s.start).Seconds(); rate < 0.9 || rate > 1.1 {
					t.Errorf("interval %d: %d calls in %s", i, calls, time.Duration(s.end-s.start))
				}
				p := processes[i]
				if p.start != s.start || p.end != s.end || p.attrs["corehour.process.final"] != last {
					t.Errorf("process span %d from %s to %s, final %v", i, clock(p.start), clock(p.end), p.attrs["corehour.process.final"])
				}
				at = s.end
			}
			if total != made || at != ended.UnixNano() {
				t.Errorf("%d counted of %d, until %s of %s", total, made, clock(at), ended.UTC())
			}
		})
	}
}

// A long outage loses no count and no order: intervals wait, the oldest merge, and all arrive when the
// collector is back.
func TestIntervals_OutageLosesNoCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		c := &collector{answer: func(*http.Request) (bool, int, http.Header, bool) {
			if up.Load() {
				return true, http.StatusOK, nil, false
			}
			return false, http.StatusServiceUnavailable, nil, false
		}}
		began := time.Now()
		_, stop := start(t, WithHTTPClient(c.client()), WithInterval(10*time.Second))
		made := int64(0)
		for range 2000 {
			time.Sleep(time.Second)
			paced.Begin().End()
			made++
		}
		up.Store(true)
		time.Sleep(time.Minute)
		stop()
		if got := counted(c, t)["paced.Method"]; got != made {
			t.Errorf("%d counted of %d", got, made)
		}
		spans := c.spans(t, "counts")
		if n := len(spans); n > 2*maxIntervals || n < maxIntervals/2 {
			t.Errorf("%d intervals of 200 arrived, want about %d", n, maxIntervals)
		}
		var last int64
		for _, s := range spans {
			if s.start < last || minuteOf(s.start) != minuteOf(s.end-1) {
				t.Errorf("interval from %s to %s after %s", clock(s.start), clock(s.end), clock(last))
			}
			last = s.end
		}
		// The available core time is known for all of the time.
		processes, lasted := c.spans(t, "process"), int64(0)
		for i, s := range processes {
			if i > 0 && s.start != processes[i-1].end {
				t.Errorf("process from %s to %s after %s", clock(s.start), clock(s.end), clock(processes[i-1].end))
			}
			lasted += s.end - s.start
		}
		if want := int64(time.Since(began)); lasted != want {
			t.Errorf("the process lasts %s, want %s", time.Duration(lasted), time.Duration(want))
		}
	})
}

// Shutdown keeps its deadline with a collector that never answers, reports the remaining data, and leaves
// no goroutine behind (the bubble would not end).
func TestShutdown_Deadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			trace(r)
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		shutdown, err := Start(context.Background(), WithHTTPClient(hang))
		if err != nil {
			t.Fatal(err)
		}
		paced.Begin().End()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		began := time.Now()
		unsure := Stats().WriteUnknown
		err = shutdown(ctx)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("shutdown took %s", took)
		}
		if err == nil {
			t.Error("no error from a shutdown that delivered nothing")
		}
		if lost := Stats().WriteUnknown - unsure; lost != 1 {
			t.Errorf("%d calls of unknown outcome, want 1", lost)
		}
		if again := shutdown(context.Background()); !errors.Is(again, err) {
			t.Errorf("the second shutdown says %v, the first %v", again, err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Without a collector, shutdown returns an error that names the loss.
func TestShutdown_NoCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nobody := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return nil, errLost // before any connection: nothing was sent
		})}
		shutdown, err := Start(context.Background(), WithHTTPClient(nobody), WithSample(1))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			childMethod.Begin().End()
		}
		began := time.Now()
		err = shutdown(context.Background())
		want := "corehour: shutdown: not delivered: 3 calls and 3 measurements; of unknown outcome: 0 calls: "
		if err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took > shutdownPatience {
			t.Errorf("shutdown took %s", took)
		}
	})
}

// The wall clock is set forward and back, by hours and by less than an interval. Counts stay exact, and
// every interval has a length within its minute, because collectors refuse CPU time beyond it.
func TestIntervals_ClockSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		_, stop := start(t, WithHTTPClient(c.client()), WithInterval(10*time.Second), WithSample(1))
		m := NewMethod("intervals.Set")
		before := m.Calls()
		for _, by := range []time.Duration{
			3 * time.Hour, -5 * time.Hour, 17 * time.Second, -23 * time.Second, 2*time.Hour + 6*time.Second,
			-4 * time.Second, -10 * time.Second, -30 * time.Second, 44 * time.Second,
		} {
			hostclock.StepWall(by) // the sum of the steps is 0
			for range 25 {
				m.Begin().End()
				time.Sleep(time.Second)
			}
		}
		stop()
		if got, made := counted(c, t)[m.Name()], m.Calls()-before; got != made || made != 225 {
			t.Errorf("%d counted of %d, want 225", got, made)
		}
		for _, s := range c.spans(t, "counts") {
			if s.end <= s.start || s.end-s.start > int64(time.Minute) || minuteOf(s.start) != minuteOf(s.end-1) {
				t.Errorf("an interval from %s to %s", clock(s.start), clock(s.end))
			}
		}
	})
}

// If the clock is set back by less than a second, the end of the interval is awaited: no interval begins
// before the end of the previous one.
func TestIntervals_ClockSetByLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		_, stop := start(t, WithHTTPClient(c.client()), WithInterval(10*time.Second), WithSample(1))
		m := NewMethod("intervals.SetByLittle")
		for _, by := range []time.Duration{-300 * time.Millisecond, -time.Millisecond, -699 * time.Millisecond, time.Second} {
			hostclock.StepWall(by)
			for range 25 {
				m.Begin().End()
				time.Sleep(time.Second)
			}
		}
		stop()
		if got := counted(c, t)[m.Name()]; got != 100 {
			t.Errorf("%d counted of 100", got)
		}
		last := int64(0)
		for _, s := range c.spans(t, "counts") {
			if s.start < last || s.end <= s.start {
				t.Errorf("an interval from %s to %s after %s", clock(s.start), clock(s.end), clock(last))
			}
			last = s.end
		}
	})
}
