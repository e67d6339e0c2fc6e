package cost

import (
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// Few calls of methods that call each other were timed, and for one method only the most expensive calls. Its cost is
// at most that of its process nevertheless, and the cost of its caller is at least zero.
func TestReconcile_MethodAtMostProcess(t *testing.T) {
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

// shareOfCalls adds 1,000 calls to a minute and times some of them.
func shareOfCalls(p *fixture.Process, method, caller string, timed int, cpu time.Duration) {
	p.Counts(method, fixture.Start, time.Minute, 1000)
	for i := range timed {
		at := fixture.Start.Add(time.Minute * time.Duration(i) / time.Duration(timed))
		p.Call(method, caller, at, cpu, cpu, float64(timed)/1000, 1)
	}
}

// The total comes from the timed calls of the entry method, whose most expensive calls were not timed. Costs that are
// estimated from many calls, or from the only call of a method, do not change.
func TestReconcile_KeepsCertainCosts(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Beat(fixture.Start, time.Minute, 10*time.Second, false)
	shareOfCalls(p, "a.Expression", methodspan.CallerEntry, 10, time.Millisecond)
	shareOfCalls(p, "a.Primary", "a.Expression", 1, 25*time.Millisecond)
	shareOfCalls(p, "a.Number", "a.Expression", 500, 4*time.Millisecond)
	p.Counts("a.Once", fixture.Start, time.Minute, 1)
	p.Call("a.Once", methodspan.CallerEntry, fixture.Start, 2*time.Second, 2*time.Second, 1, 1)
	_, methods := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
	for name, want := range map[string]time.Duration{"a.Expression": 0, "a.Primary": 0, "a.Number": 4 * time.Second, "a.Once": 2 * time.Second} {
		near(t, name, methods[name].SelfCoreHours, want.Hours(), 1e-6)
	}
}

// Run contains nearly all other calls, and only calls of Run that contain little were timed. The excess of its callees
// is not known to be its own cost, and no cost is below zero. The callees keep their costs, up to the CPU time of their
// process if that is known.
func TestSelfCost_ContainingCallUntimed(t *testing.T) {
	for _, process := range []time.Duration{0, 10 * time.Second, 4 * time.Second} {
		p := fixture.NewProcess("1", "a", fixture.Start)
		if process > 0 {
			p.Beat(fixture.Start, time.Minute, process, false)
		}
		shareOfCalls(p, "a.Run", methodspan.CallerEntry, 10, time.Microsecond)
		shareOfCalls(p, "a.Step", "a.Run", 500, 3*time.Millisecond)
		shareOfCalls(p, "a.Look", "a.Run", 500, 2*time.Millisecond)
		r, methods := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
		step, look := 3*time.Second, 2*time.Second
		if process == 4*time.Second {
			step, look = 2400*time.Millisecond, 1600*time.Millisecond
		}
		near(t, "Run", methods["a.Run"].SelfCoreHours, 0, 1e-6)
		near(t, "Step", methods["a.Step"].SelfCoreHours, step.Hours(), 0.02)
		near(t, "Look", methods["a.Look"].SelfCoreHours, look.Hours(), 0.03)
		s := &r.Services[0]
		sum := (step + look).Hours()
		near(t, "all", &s.AttributedCoreHours, sum, 1e-6)
		if excess := s.Excess(); s.AboveProcess() || !strings.Contains(excess, "less than the") || !methods["a.Run"].Reconciled {
			t.Errorf("%q; of Run: reconciled %v", excess, methods["a.Run"].Reconciled)
		}
	}
}
