package corehour

import (
	"reflect"
	"runtime"
	"testing"
)

var (
	wayFar  = NewMethod("ways.Far")
	wayNear = NewMethod("ways.Near")
	wayHere = NewMethod("ways.Here")
)

//go:noinline
func wayFarFunction(f func()) {
	defer wayFar.Begin().End()
	f()
}

//go:noinline
func wayNearFunction() {
	defer wayNear.Begin().End()
	wayHereFunction()
}

//go:noinline
func wayHereFunction() { defer wayHere.Begin().End() }

//go:noinline
func wayOther() { wayHereFunction() }

//go:noinline
func wayBoth(m *Method) {
	defer m.Begin().End()
	wayHereFunction()
}

// A cached stack leads to the current caller: methods are switched on and off, and functions turn out to
// hold a probe, after it was cached.
func TestCallerCache_FollowsChanges(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1} })
	caller := func() string {
		t.Helper()
		found := ""
		for round := range 4 { // resolved, searched, cached
			e.ring.Dequeue(nil, 100)
			wayFarFunction(wayNearFunction)
			for _, r := range e.ring.Dequeue(nil, 100) {
				if r.plan.method != wayHere {
					continue
				}
				if got := callerText(r.caller); round > 0 && got != found {
					t.Errorf("caller %s, and then %s", found, got)
				} else {
					found = got
				}
			}
		}
		return found
	}
	for _, step := range []struct {
		m    *Method
		mode Mode
		want string
	}{
		{wayNear, Sample, "ways.Near"},
		{wayNear, Off, "ways.Far"},
		{wayFar, Off, "(entry)"},
		{wayNear, Sample, "ways.Near"},
		{wayFar, Sample, "ways.Near"},
		{wayNear, Off, "ways.Far"},
	} {
		force(e, step.m, settings{mode: step.mode, rate: 1})
		if got := caller(); got != step.want {
			t.Errorf("after %s is %v: caller %s, want %s", step.m.name, step.mode, got, step.want)
		}
	}

	// Once a function has begun two methods, it identifies neither.
	one, two := NewMethod("ways.One"), NewMethod("ways.Two")
	want := "ways.One"
	if one.located.Load() { // an earlier run of the test: a function's owner is permanent
		want = callerText(nil)
	}
	last := func() string {
		e.ring.Dequeue(nil, 100)
		wayBoth(one)
		for _, r := range e.ring.Dequeue(nil, 100) {
			if r.plan.method == wayHere {
				return callerText(r.caller)
			}
		}
		return "none"
	}
	for range 4 {
		if got := last(); got != want {
			t.Errorf("caller %s, want %s", got, want)
		}
	}
	wayBoth(two)
	if got, want := last(), callerText(nil); got != want {
		t.Errorf("caller %s, want %s: the function began two methods", got, want)
	}
}

// Stacks beyond the cache's bound also lead to their callers, and a cached stack allocates nothing
// again.
func TestCallerCache_Bounded(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1} })
	if !e.walkable || raceEnabled {
		return
	}
	all := func() {
		wayFarFunction(func() { wayHereFunction() })
		wayFarFunction(func() { wayHereFunction(); wayHereFunction(); wayHereFunction(); wayHereFunction() })
		wayFarFunction(func() { wayHereFunction(); wayHereFunction(); wayHereFunction(); wayHereFunction() })
		wayFarFunction(wayOther)
	}
	for range 4 {
		all()
	}
	e.ring.Dequeue(nil, 1000)
	all()
	for _, r := range e.ring.Dequeue(nil, 1000) {
		if r.plan.method == wayHere && r.caller != &wayFar.owner {
			t.Errorf("caller %s", callerText(r.caller))
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 200 {
		all()
	}
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > 100 { // allocations of the test's own runtime
		t.Errorf("%d allocations in 2,000 calls by ways that are known", n)
	}
	kept := 0
	for _, entry := range reflect.ValueOf(&wayHere.owner).Elem().FieldByName("cache").Seq2() {
		if !entry.IsZero() {
			kept++
		}
	}
	if kept < 2 {
		t.Errorf("%d ways are kept", kept)
	}
}
