package cost

import (
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// The loop calls handle, and no call of the loop ended or was timed. The cost of handle is counted twice only up to the
// self costs of methods that the loop does not call.
func TestDoubleCount_Detected(t *testing.T) {
	const minute, process = time.Minute, 20 * time.Second
	for _, test := range []struct {
		name  string
		other time.Duration // per call of a measured method that can have called the loop
		from  string        // caller of that method
		rate  float64
		twice time.Duration // in total
	}{
		{"nothing measured calls it", 0, "", 1, 0},
		{"its caller is measured", 7 * time.Millisecond, methodspan.CallerEntry, 1, 5 * time.Second},
		{"what another method costs is less", 2 * time.Millisecond, methodspan.CallerEntry, 1, 2 * time.Second},
		{"few of its calls were timed", 7 * time.Millisecond, methodspan.CallerEntry, 0.1, 700 * time.Millisecond},
		{"the other one is called by the loop, too", 7 * time.Millisecond, "shop/worker.loop", 1, 0},
		{"the other one is called by what it calls", 4 * time.Millisecond, "shop/worker.handle", 1, 0},
	} {
		p := fixture.NewProcess("1", "a", fixture.Start)
		p.Beat(fixture.Start, minute, process, false)
		p.Counts("shop/worker.loop", fixture.Start, minute, 1)
		call := func(method, caller string, cpu time.Duration, rate float64) {
			p.Counts(method, fixture.Start, minute, 1000)
			for range int(1000 * rate) {
				p.Call(method, caller, fixture.Start, cpu, cpu, rate, 1)
			}
		}
		self := 5 * time.Second
		call("shop/worker.handle", "shop/worker.loop", 5*time.Millisecond, 1)
		if test.from != "" {
			call("shop/api.other", test.from, test.other, test.rate)
			if test.from != "shop/worker.handle" {
				self += 1000 * test.other
			}
		}
		r, _ := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
		s := &r.Services[0]
		near(t, test.name+": self costs", &s.AttributedCoreHours, self.Hours(), 1e-9)
		near(t, test.name+": counted twice", &s.DoubleCoreHours, -test.twice.Hours(), 1e-9)
		near(t, test.name+": unattributed", s.UnattributedCoreHours, (process - self + test.twice).Hours(), 1e-9)
	}
}

// Loops of connections have not ended, and call write. Each read runs on its own goroutine. All timed reads take the
// same time, so none of them contained a loop and nothing is counted twice. The time of the reads is not the inclusive
// cost of the service.
func TestDoubleCount_ConnectionLoops(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Beat(fixture.Start, time.Minute, 20*time.Second, true)
	p.Counts("a.loop", fixture.Start, time.Minute, 16)
	call := func(method, caller string, n int, cpu time.Duration, rate float64) {
		p.Counts(method, fixture.Start, time.Minute, int64(n))
		for i := range int(float64(n) * rate) {
			p.Call(method, caller, fixture.Start.Add(time.Minute*time.Duration(i)/time.Duration(float64(n)*rate)), cpu, cpu, rate, 1)
		}
	}
	call("a.write", "a.loop", 100_000, 90*time.Microsecond, 0.05)
	call("a.read", methodspan.CallerEntry, 100_000, 50*time.Microsecond, 0.05)
	where := fixture.Write(t, []methodspan.Item{p.Item()})
	r, _ := compute(t, where)
	s := &r.Services[0]
	near(t, "self costs", &s.AttributedCoreHours, (14 * time.Second).Hours(), 1e-6)
	if twice := -s.DoubleCoreHours; twice > (50 * time.Millisecond).Hours() {
		t.Errorf("%v core hours are counted twice", twice)
	}
	if l := computeWith(t, where, Options{By: []Dimension{ByService}}).Groups[0]; l.InclusiveCoreHours != nil {
		t.Errorf("%v core hours in calls from outside, where methods cost %v themselves", *l.InclusiveCoreHours, *l.SelfCoreHours)
	}
}

// Each call of request makes a call of blocking, whose CPU is never timed, evenly through the minute. All time
// buckets are alike, and the whole cost of work is counted twice.
func TestDoubleCount_EveryCall(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Beat(fixture.Start, time.Minute, 20*time.Second, true)
	const calls = 6000
	for _, method := range []string{"a.request", "a.blocking", "a.work"} {
		p.Counts(method, fixture.Start, time.Minute, calls)
	}
	for i := range calls {
		at := fixture.Start.Add(time.Minute * time.Duration(i) / calls)
		p.Call("a.request", methodspan.CallerEntry, at, 2*time.Millisecond, 2*time.Millisecond, 1, 1)
		p.Call("a.work", "a.blocking", at, time.Millisecond, time.Millisecond, 1, 1)
	}
	r, _ := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
	s := &r.Services[0]
	near(t, "counted twice", &s.DoubleCoreHours, -(6 * time.Second).Hours(), 1e-6)
}
