package corehour

import (
	"context"
	"strings"
	"testing"

	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/methodfile"
)

var (
	stackedOuter      = NewMethod("stacked.(*T).Outer")
	stackedOff        = NewMethod("stacked.off")
	stackedInner      = NewMethod("stacked.Inner[...]")
	stackedDeep       = NewMethod("stacked.Deep")
	stackedCoded      = NewMethod("stacked.Coded", Stack())
	stackedCallerless = NewMethod("stacked.Callerless", Stack(), NoCaller())
	stackedTraced     = NewMethod("stacked.Traced")
	stackedLong       = NewMethod("stacked." + strings.Repeat("long;", 150))
)

//go:noinline
func stackOuter(depth int) {
	defer stackedOuter.Begin().End()
	stackOff(depth)
}

//go:noinline
func stackOff(depth int) {
	defer stackedOff.Begin().End()
	stackPlain(depth)
}

// stackPlain holds no probe.
//
//go:noinline
func stackPlain(depth int) {
	if depth > 0 {
		stackPlain(depth - 1)
		return
	}
	stackInner()
}

//go:noinline
func stackInner() { defer stackedInner.Begin().End() }

//go:noinline
func stackTraced(ctx context.Context) { defer stackedTraced.BeginContext(ctx).End() }

//go:noinline
func stackDeep(depth int) {
	defer stackedDeep.Begin().End()
	if depth > 0 {
		stackDeep(depth - 1)
	}
}

//go:noinline
func stackLong(depth int) {
	defer stackedLong.Begin().End()
	if depth > 0 {
		stackLong(depth - 1)
	}
}

func stackIn(r record) string {
	if r.extra == nil {
		return ""
	}
	return r.extra.stack
}

// A chosen call carries the methods above it that are on, outermost first. The caller is the same as
// without stacks.
func TestStacks(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1} })
	force(e, stackedOff, settings{mode: Off})
	for _, stacked := range []bool{true, false} {
		force(e, stackedInner, settings{rate: 1, stack: stacked})
		for _, depth := range []int{0, 5, 11, 12, 13, 14, 15, 30, 56, 57} {
			stackOuter(depth)
			for _, r := range e.ring.Dequeue(nil, 10) {
				if r.plan.method != stackedInner {
					continue
				}
				want := ""
				if stacked {
					want = "stacked.T.Outer;stacked.Inner"
				}
				if depth == 57 && stacked {
					// These are 64 frames with the three above Outer: there can be more.
					want = "(cut);" + want
				}
				if got := stackIn(r); got != want || r.caller != &stackedOuter.owner {
					t.Errorf("depth %d: stack %q, want %q; caller %s", depth, got, want, callerText(r.caller))
				}
			}
		}
	}
	force(e, stackedInner, settings{rate: 1, stack: true})
	stackInner()
	if r := e.ring.Dequeue(nil, 2); len(r) != 1 || stackIn(r[0]) != "stacked.Inner" || r[0].caller != callers.Entry {
		t.Errorf("alone: %+v", r)
	}
	stackOuter(100)
	r := e.ring.Dequeue(nil, 10)
	if stackIn(r[0]) != "(cut);stacked.Inner" || r[0].caller != nil {
		t.Errorf("too far: stack %q, caller %s", stackIn(r[0]), callerText(r[0].caller))
	}
}

// Recursion appears on the stack once per call in flight, up to the bounds.
func TestStacks_Recursion(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1} })
	force(e, stackedDeep, settings{rate: 1, stack: true, cpuRate: 0.5})
	stackDeep(200)
	for i, r := range e.ring.Dequeue(nil, 1000) {
		level := 201 - i // the deepest ends first
		names := strings.Split(stackIn(r), ";")
		if level > 70 && (len(names) != callers.StackFrames+1 || names[0] != "(cut)") || level < 50 && len(names) != level {
			t.Fatalf("level %d: %d names, the first %q", level, len(names), names[0])
		}
		for _, name := range names[1:] {
			if name != "stacked.Deep" {
				t.Fatalf("level %d: %q on the stack", level, name)
			}
		}
	}
	force(e, stackedLong, settings{rate: 1, stack: true})
	stackLong(10)
	deepest := stackIn(e.ring.Dequeue(nil, 1)[0])
	if !strings.HasPrefix(deepest, "(cut);") || len(deepest) > 4096 || len(deepest) < 4096*3/4 || strings.Count(deepest, ";") != 5 {
		t.Errorf("%d bytes: %s", len(deepest), deepest)
	}
}

// Precedence of options, served rates and modes for stacks.
func TestStacks_WhichRecords(t *testing.T) {
	coded, callerless := stackedCoded, stackedCallerless
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1} })
	rates, err := parseRates([]byte(`{"methods": [{"name": "stacked.T.Outer", "stack": true}, {"name": "stacked.Coded", "stack": false}]}`))
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string, want map[*Method]bool) {
		t.Helper()
		for m, stacked := range want {
			if planOf(m).stack != stacked {
				t.Errorf("%s: %s has stack = %t", when, m.Name(), planOf(m).stack)
			}
		}
	}
	check("without rates", map[*Method]bool{coded: true, callerless: false, stackedOuter: planOf(stackedOuter).stack})
	e.applyRates(rates)
	check("with rates", map[*Method]bool{coded: false, callerless: false, stackedOuter: true})
	force(e, coded, settings{mode: Aggregate, rate: 1, stack: true})
	check("in sums", map[*Method]bool{coded: false})
	e.applyRates(nil)
	file, err := methodfile.Parse([]byte(`{"version": 1, "defaults": {"stack": true},
	 "methods": [{"class": "stacked", "method": "off", "stack": false}, {"class": "stacked", "method": "Callerless", "rate": 1}]}`))
	if err != nil || len(file.Faults) > 0 {
		t.Fatal(err, file.Faults)
	}
	e.applyMethodFile(file)
	check("with a file", map[*Method]bool{coded: false, callerless: false, stackedOuter: true, stackedOff: false})
}

// A stack is exported with its record, with or without trace ids; overflow aggregates have none.
func TestStacks_Exported(t *testing.T) {
	e, _ := startWith(t, func(c *config) {
		c.queue = 2
		c.defaults = settings{rate: 1, noCaller: true}
		c.traceContext = func(context.Context) (TraceContext, bool) { return TraceContext{TraceID: [16]byte{1}}, true }
	})
	force(e, stackedInner, settings{rate: 1, stack: true})
	force(e, stackedTraced, settings{rate: 1, stack: true})
	stackInner()
	stackTraced(t.Context())
	for range 5 {
		stackInner()
	}
	sent := &collector{}
	sent.receive(e.encode(nil, e.buildRequest(true)))
	calls, sums := sent.spans(t, "call"), sent.spans(t, "aggregate")
	if len(calls) != 2 || len(sums) != 1 {
		t.Fatalf("%d calls and %d sums", len(calls), len(sums))
	}
	for i, want := range []string{"stacked.Inner", "stacked.Traced"} {
		_, invented := calls[i].attrs["corehour.ids"]
		if calls[i].text("corehour.stack") != want || invented != (i == 0) {
			t.Errorf("call %d: %v", i, calls[i].attrs)
		}
	}
	if _, has := sums[0].attrs["corehour.stack"]; has || sums[0].int("corehour.measured") != 5 {
		t.Errorf("sums %v", sums[0].attrs)
	}
}
