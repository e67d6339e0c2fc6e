package cost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// The timed requests determine the cost of a service: costs of callees move between methods and cancel out in the sum.
// For a method that calls itself, its outermost calls determine the cost. Few timed requests give no interval, however
// many other calls were timed and however cheap the timed requests were: one request in 20 is some 50 times as
// expensive.
func TestIntervals_FewRequests(t *testing.T) {
	fixture.SkipRaced(t)
	const services, root, nest, heavy = 40, 90 * time.Microsecond, 300 * time.Nanosecond, 5 * time.Millisecond
	for _, test := range []struct {
		name     string
		requests int
		rate     float64 // of the requests
		printed  bool
	}{
		{"12 of 600 timed", 600, 0.02, false},
		{"1,000 of 2,000 timed", 2000, 0.5, true},
		{"all timed", 200, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, uint64(test.requests)))
			var items []methodspan.Item
			truth := map[string]time.Duration{}
			for i := range services {
				p := fixture.NewProcess("1", "a", fixture.Start)
				p.Resource.Service = fmt.Sprintf("s%d", i)
				calls := map[string]int64{}
				call := func(method, caller string, at, cpu time.Duration, rate float64) {
					calls[method]++
					if r.Float64() < rate {
						p.Call(method, caller, fixture.Start.Add(at), cpu, cpu, rate, 1)
					}
				}
				for n := range test.requests {
					at, depth, caller := time.Minute*time.Duration(n)/time.Duration(test.requests), time.Duration(1+n%100), "a.Root"
					whole := root + depth*nest
					for d := depth; d > 0; d-- {
						call("a.Nest", caller, at, d*nest, 0.02)
						caller = "a.Nest"
					}
					if n%20 == 0 {
						whole += heavy
						call("a.Heavy", "a.Root", at, heavy, 0.02)
					}
					call("a.Root", methodspan.CallerEntry, at, whole, test.rate)
					truth[p.Resource.Service] += whole
				}
				for method, n := range calls {
					p.Counts(method, fixture.Start, time.Minute, n)
				}
				items = append(items, p.Item())
			}
			where := fixture.Write(t, items)
			held, bounds := 0, 0
			for _, l := range computeWith(t, where, Options{By: []Dimension{ByService}}).Groups {
				truth := truth[l.Service.Name].Hours()
				if i := l.SelfCoreHoursInterval; (i != nil) != test.printed {
					t.Errorf("%s: interval %v", l.Service.Name, i)
				} else if i != nil && i[0] <= truth && truth <= i[1] {
					held++
				}
				if l.SelfCoreHoursLeast != nil {
					bounds++
				}
				if !test.printed && !l.Uncertain {
					t.Errorf("%s: certain without an interval", l.Service.Name)
				}
			}
			if test.printed && held < services*9/10 {
				t.Errorf("%d of %d intervals hold the truth", held, services)
			}
			if bounds > 0 {
				t.Errorf("%d of %d services have a lower bound, and no tail shows", bounds, services)
			}
			table := computeWith(t, where, Options{})
			heavy := 0
			for _, l := range table.Methods {
				if l.Method == "Heavy" && l.CPUMeasured == 0 {
					heavy++
				}
				if l.Method == "Nest" && l.SelfCoreHoursInterval != nil && test.requests < 2000 {
					t.Errorf("%s: interval of Nest: %v", l.Service.Name, l.SelfCoreHoursInterval)
				}
			}
			want := fmt.Sprintf("not timed: %d of %d lines, with %d calls,", heavy, 3*services, heavy*test.requests/20)
			if notes := strings.Join(table.notes(fixture.Start), "\n"); strings.Contains(notes, want) != (heavy > 0) {
				t.Errorf("no %q in %q", want, notes)
			}
		})
	}
}

// A method that calls itself has no interval if none of its outermost calls was timed.
func TestInclusive_NoOutermostCallTimed(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Counts("a.Fib", fixture.Start, time.Minute, 100_000)
	for i := range 1000 {
		cpu := time.Duration(1+i%20) * time.Microsecond
		p.Call("a.Fib", "a.Fib", fixture.Start.Add(time.Duration(i)*50*time.Millisecond), cpu, cpu, 0.01, 1)
	}
	where := fixture.Write(t, []methodspan.Item{p.Item()})
	if l := computeWith(t, where, Options{By: []Dimension{ByService}}).Groups[0]; l.InclusiveCoreHours != nil || l.InclusiveUSD != nil {
		t.Errorf("the service: %v core hours of calls from outside", *l.InclusiveCoreHours)
	}
	_, methods := compute(t, where)
	if l := methods["a.Fib"]; l.SelfCoreHoursInterval != nil || l.LowerBound || !l.Uncertain {
		t.Errorf("interval %v, lower bound %v, uncertain %v", l.SelfCoreHoursInterval, l.LowerBound, l.Uncertain)
	}
	if l := methods["a.Fib"]; l.InclusiveCoreHours != nil || l.CPUNSPerCall == nil {
		t.Errorf("%v core hours of calls from outside, of which none was timed; a call takes %v", *l.InclusiveCoreHours, l.CPUNSPerCall)
	}
}

// Runs of a few seconds have intervals, which contain the true cost as often as those of longer runs.
func TestIntervals_Seconds(t *testing.T) {
	fixture.SkipRaced(t)
	const methods, rate = 100, 0.05
	for _, seconds := range []int{3, 20, 60} {
		length := time.Duration(seconds) * time.Second
		r := rand.New(rand.NewPCG(11, uint64(seconds)))
		p := fixture.NewProcess("1", "a", fixture.Start)
		truth := map[string]time.Duration{}
		for i := range methods {
			name := fmt.Sprintf("a.M%d", i)
			calls := 1000 * seconds
			p.Counts(name, fixture.Start, length, int64(calls))
			for c := range calls {
				x := time.Duration(1e5 * lognormal(0.3)(r))
				truth[name] += x
				if r.Float64() < rate {
					p.Call(name, methodspan.CallerEntry, fixture.Start.Add(length*time.Duration(c)/time.Duration(calls)), x, x, rate, 1)
				}
			}
		}
		_, lines := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
		held, width := 0, 0.0
		for name, total := range truth {
			i := lines[name].SelfCoreHoursInterval
			if i == nil {
				t.Fatalf("%d s: %s has no interval: %q", seconds, name, lines[name].Warning)
			}
			if i[0] <= total.Hours() && total.Hours() <= i[1] {
				held++
			}
			width += (i[1] - i[0]) / total.Hours() / methods
		}
		records := float64(50 * seconds)
		if sampling := 2 * 1.96 * math.Sqrt((math.Exp(0.09)-1)*(1-rate)/records); held < 90 || width > 1.25*sampling {
			t.Errorf("%d s: %d of %d hold the truth; they are %.3f wide, by sampling %.3f", seconds, held, methods, width, sampling)
		}
		t.Logf("%d s: %d of %d intervals hold the truth; they are %.3f of the cost wide", seconds, held, methods, width)
	}
}
