package cost

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// shopSince contains the rows that a newly started shop has sent by a given time. It sends samples at once,
// and counts and process rows at the end of each minute. The first interval ends after two seconds, when
// the sampling rates arrive. own is the CPU time in ns of its probed calls that were counted, by method.
type shopSince struct {
	rows []methodspan.Row
	own  map[string]float64
	p    *fixture.Process
}

func startedShop(now time.Time, start time.Time) *shopSince {
	s := &shopSince{own: map[string]float64{}, p: fixture.NewProcess("1", "a", start)}
	from, end := start, start.Add(2*time.Second)
	for n := 0; from.Before(now); n++ {
		counts := map[string]int64{}
		own := map[string]float64{}
		for at := from; at.Before(end) && at.Before(now); at = at.Add(20 * time.Millisecond) {
			n++
			// Calls of the first 5 seconds are twice as expensive. The sine varies the cost without an order in time.
			factor := 1 + 0.5*math.Sin(float64(n))
			if at.Before(start.Add(5 * time.Second)) {
				factor *= 2
			}
			serve, total := 400e3*factor, 200e3*(2-factor/2)
			for _, c := range []struct {
				name, caller string
				all, own     float64
			}{{fixture.Total, methodspan.ParseFunction(fixture.Serve).Full(), total, total}, {fixture.Serve, methodspan.CallerEntry, serve + total, serve}} {
				s.p.Call(c.name, c.caller, at, time.Duration(2*c.all), time.Duration(math.Round(c.all)), 1, 1)
				counts[c.name]++
				own[c.name] += c.own
			}
		}
		s.rows = append(s.rows, s.p.Item().Rows...)
		if end.After(now) {
			break
		}
		cpu := 0.0
		for name, calls := range counts {
			s.p.Counts(name, from, end.Sub(from), calls)
			s.own[name] += own[name]
			cpu += own[name]
		}
		s.p.Beat(from, end.Sub(from), time.Duration(1.05*cpu), false)
		s.rows = append(s.rows, s.p.Item().Rows...)
		from, end = end, end.Truncate(time.Minute).Add(time.Minute)
	}
	return s
}

// Every 15 seconds after a start, own costs add up to the CPU time of the probed calls within the billed
// time, whether or not the window starts within a minute.
func TestCost_SelfCostsAddUpFromStart(t *testing.T) {
	start := fixture.Start.Truncate(time.Hour).Add(9*time.Minute + 41*time.Second)
	windows := []time.Duration{90 * time.Second, 24 * time.Hour}
	for i := range 16 {
		if testing.Short() && i%8 != 1 { // the first minute, and the end of the second
			continue
		}
		after := time.Duration(i+1) * 15 * time.Second
		now := start.Add(after)
		root := fixture.Write(t, fixture.Items("a", startedShop(now, start).rows...))
		for _, since := range []time.Duration{time.Minute, windows[i%2]} {
			where := fmt.Sprintf("%v after the start, window of %v", after, since)
			from := now.Add(-since)
			// Subtract the calls counted before the window began.
			want := map[string]float64{}
			for name, ns := range startedShop(now, start).own {
				want[name] = ns
			}
			if before := startedShop(from.Truncate(time.Minute), start); from.After(start) {
				for name, ns := range before.own {
					want[name] -= ns
				}
			}
			r := computeWith(t, root, Options{Window: query.Window{From: from}})
			if len(r.Services) == 0 { // the process has not sent the minutes of the window yet
				t.Fatalf("%s: no service", where)
			}
			s, sum := &r.Services[0], 0.0
			if (s.PendingRecords > 0) != (s.CountedUntil == nil || s.CountedUntil.Before(now.Add(-20*time.Millisecond))) {
				t.Errorf("%s: %d pending, counted until %v", where, s.PendingRecords, s.CountedUntil)
			}
			for i := range r.Methods {
				l := &r.Methods[i]
				if l.SelfCoreHours == nil {
					if l.Why != "counts pending" {
						t.Errorf("%s: %s has no cost and is not pending: %+v", where, l.Method, l)
					}
					continue
				}
				sum += *l.SelfCoreHours
			}
			all := 0.0
			for _, ns := range want {
				all += ns / float64(time.Hour)
			}
			if math.Abs(sum-all) > 0.03*all {
				t.Errorf("%s: own costs add up to %v core hours of %v", where, sum, all)
			}
			if s.ProcessCoreHours == nil {
				if sum != 0 {
					t.Errorf("%s: costs without a bill", where)
				}
				continue
			}
			if rest := *s.UnattributedCoreHours; math.Abs(rest-0.05*all) > 0.03*all {
				t.Errorf("%s: %v unattributed of %v", where, rest, all)
			}
			// The observed part of the window ends at the last counts.
			if until := s.CountedUntil.Sub(later(start, from.Truncate(time.Minute))); math.Abs(s.ObservedDays-until.Hours()/24) > 1e-9 {
				t.Errorf("%s: %v days observed of %v", where, s.ObservedDays, until)
			}
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
