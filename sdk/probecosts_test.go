package corehour

import "testing"

var own = NewMethod("own.Work")

// The process span contains the SDK's own CPU time: probes by their cost and number, and building requests
// by the clock of the thread.
func TestOwnCPU_Interval(t *testing.T) {
	e, _ := startWith(t, func(*config) {})
	e.probe.empty = nil // keeps the costs that are set here
	e.probe.cpu.costSamples, e.probe.wall.costSamples = costSamples{}, costSamples{}
	e.probe.cpu.inLoop.Store(1000)
	e.probe.wall.inLoop.Store(100)
	e.probe.countedPS.Store(8000)
	cut := func() *interval {
		e.buildRequest(true) // removes the records
		e.cut(e.unix(now()), false)
		cuts := e.intervals.removeOldest(countsPerRequest)
		return cuts[len(cuts)-1]
	}
	cut()
	call := func(n int, s settings) {
		force(e, own, s)
		for range n {
			own.Begin().End()
		}
	}
	withCPU := e.counters.states[cpuExact].Load() + e.counters.states[cpuUntrusted].Load()
	call(1000, settings{rate: 0})
	call(100, settings{rate: 1})
	call(20, settings{rate: 1, cpuRate: 1})
	e.counters.packCPU.Add(777)
	got := cut().sdk
	withCPU = e.counters.states[cpuExact].Load() + e.counters.states[cpuUntrusted].Load() - withCPU
	if want := 1000*8 + 100*(120-withCPU) + 1000*withCPU + 777; got != want {
		t.Errorf("an interval took %d ns, want %d", got, want)
	}
	call(50, settings{mode: Aggregate})
	if got := cut().sdk; got != 50*100 {
		t.Errorf("50 calls of mode Aggregate took %d ns, want %d", got, 50*100)
	}
	if got := cut().sdk; got != 0 {
		t.Errorf("an interval without calls took %d ns", got)
	}
}

// Bodies are made on a thread whose clock is read.
func TestOwnCPU_Requests(t *testing.T) {
	c := &collector{}
	e, stop := start(t, WithHTTPClient(c.client()))
	for range 10_000 {
		paced.Begin().End()
	}
	stop()
	if took := e.counters.packCPU.Load(); e.threadClock && (took <= 0 || took > int64(10e9)) {
		t.Errorf("making requests took %d ns", took)
	}
}
