package cost

import (
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// Few calls of methods that call each other were timed, and of one of them those that took most. It
// costs no more than its process for that, and its caller no less than nothing.
func TestAMethodCostsNoMoreThanItsProcess(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Beat(fixture.Start, time.Minute, 10*time.Second, false)
	call := func(method, caller string, cpu time.Duration) {
		p.Counts(method, fixture.Start, time.Minute, 1000)
		for range 10 {
			p.Call(method, caller, fixture.Start, cpu, cpu, 0.01, 1)
		}
	}
	call("a.Expression", methodspan.CallerEntry, 8*time.Millisecond)
	call("a.Primary", "a.Expression", 25*time.Millisecond)
	call("a.Number", "a.Primary", 2*time.Millisecond)
	r, methods := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
	var sum float64
	for name, m := range methods {
		if *m.SelfCoreHours < 0 || *m.SelfCoreHours > (8*time.Second).Hours()*1.000001 || !m.Reconciled {
			t.Errorf("%s: %v core hours by itself, reconciled %v", name, *m.SelfCoreHours, m.Reconciled)
		}
		sum += *m.SelfCoreHours
	}
	near(t, "all", &sum, (8 * time.Second).Hours(), 1e-9)
	if s := r.Services[0]; !s.Reconciled {
		t.Errorf("%+v", s)
	} else {
		near(t, "before", &s.MeasuredCoreHours, (25 * time.Second).Hours(), 1e-9)
	}
}

// The sum is that of the entry's timed calls, of which those that took most were not timed. What many
// calls say of another method, or the only one, stays all the same.
func TestWhatIsSureIsNotReconciledAway(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Beat(fixture.Start, time.Minute, 10*time.Second, false)
	call := func(method, caller string, timed int, cpu time.Duration) {
		p.Counts(method, fixture.Start, time.Minute, 1000)
		for i := range timed {
			at := fixture.Start.Add(time.Minute * time.Duration(i) / time.Duration(timed))
			p.Call(method, caller, at, cpu, cpu, float64(timed)/1000, 1)
		}
	}
	call("a.Expression", methodspan.CallerEntry, 10, time.Millisecond)
	call("a.Primary", "a.Expression", 1, 25*time.Millisecond)
	call("a.Number", "a.Expression", 500, 4*time.Millisecond)
	p.Counts("a.Once", fixture.Start, time.Minute, 1)
	p.Call("a.Once", methodspan.CallerEntry, fixture.Start, 2*time.Second, 2*time.Second, 1, 1)
	_, methods := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
	for name, want := range map[string]time.Duration{"a.Expression": 0, "a.Primary": 0, "a.Number": 4 * time.Second, "a.Once": 2 * time.Second} {
		near(t, name, methods[name].SelfCoreHours, want.Hours(), 1e-6)
	}
}
