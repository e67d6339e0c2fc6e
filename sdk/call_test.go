package corehour

import (
	"errors"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/corehour/corehour/sdk/internal/ring"
)

var (
	parentMethod = NewMethod("called.Parent")
	childMethod  = NewMethod("called.Child")
	deepMethod   = NewMethod("called.deep")
)

//go:noinline
func parent(depth int) {
	defer parentMethod.Begin().End()
	between(depth)
}

//go:noinline
func between(depth int) {
	if depth > 0 {
		between(depth - 1)
		return
	}
	child()
}

//go:noinline
func child() { defer childMethod.Begin().End() }

func callersOf(e *engine, m *Method) (callers []string) {
	for _, r := range e.ring.Dequeue(nil, 1000) {
		if r.plan.method == m {
			callers = append(callers, callerText(r.caller))
		}
	}
	return callers
}

// The caller is the nearest frame whose method is on, whatever the method's name is; "(entry)" without
// one; unknown beyond the searched frames.
func TestCallers(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1} })
	check := func(what, want string) {
		t.Helper()
		if got := strings.Join(callersOf(e, childMethod), " "); got != want {
			t.Errorf("%s: callers %s, want %s", what, got, want)
		}
	}
	child()
	check("alone", "(entry)")
	parent(0)
	check("near", "called.Parent")
	parent(30)
	check("far", "called.Parent")
	parent(100)
	check("too far", "unknown")
	force(e, parentMethod, settings{mode: Off})
	parent(0)
	check("parent off", "(entry)")
	force(e, parentMethod, settings{rate: 0})
	parent(0)
	check("parent counted only", "called.Parent")
	done := make(chan struct{})
	func() {
		defer parentMethod.Begin().End()
		go func() {
			defer close(done)
			child()
		}()
		<-done
	}()
	check("on another goroutine", "(entry)")
}

// Recursion makes a method its own caller.
func TestRecursion(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1, cpuRate: 1} })
	var deep func(n int)
	deep = func(n int) {
		defer deepMethod.Begin().End()
		if n > 0 {
			deep(n - 1)
		}
	}
	before := deepMethod.Calls()
	deep(9)
	callers := strings.Join(callersOf(e, deepMethod), " ")
	if want := strings.Repeat("called.deep ", 9) + "(entry)"; callers != want {
		t.Errorf("callers %s, want %s", callers, want)
	}
	if n := deepMethod.Calls() - before; n != 10 {
		t.Errorf("%d calls", n)
	}
	if cpuSlots.Held() != 0 {
		t.Errorf("%d slots held", cpuSlots.Held())
	}
}

//go:noinline
func either(m *Method) {
	defer m.Begin().End()
	child()
}

// A function that begins several methods does not identify the caller.
func TestCallers_AmbiguousFunction(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1} })
	both := []*Method{NewMethod("called.Either"), NewMethod("called.Or")}
	want := "called.Either, unknown"
	if both[0].located.Load() { // an earlier run of the test: a function's owner is permanent
		want = "unknown, unknown"
	}
	for _, m := range both {
		either(m)
	}
	if got := strings.Join(callersOf(e, childMethod), ", "); got != want {
		t.Errorf("callers %s", got)
	}
}

// Panics and Goexit end a deferred call, and free its thread.
func TestCall_PanicAndGoexit(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1, cpuRate: 1} })
	func() {
		defer func() { recover() }()
		defer childMethod.Begin().End()
		panic("x")
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer childMethod.Begin().End()
		runtime.Goexit()
	}()
	<-done
	if n := len(e.ring.Dequeue(nil, 10)); n != 2 {
		t.Errorf("%d records", n)
	}
	if cpuSlots.Held() != 0 {
		t.Errorf("%d slots held", cpuSlots.Held())
	}
}

// A detailed call that is ended twice is recorded once, even if its detail serves another call by then.
func TestCall_EndedTwice(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1, cpuRate: 1} })
	first := childMethod.Begin()
	first.End()
	second := childMethod.Begin()
	first.End()
	second.End()
	second.End()
	if n := len(e.ring.Dequeue(nil, 10)); n != 2 {
		t.Errorf("%d records of two calls", n)
	}
	if cpuSlots.Held() != 0 || childMethod.cpu.Held.Load() != 0 {
		t.Errorf("%d slots held, %d by the method", cpuSlots.Held(), childMethod.cpu.Held.Load())
	}
}

// A second End of a call timed by the wall alone is a second measurement, as documented, and still
// one call.
func TestCall_EndedTwiceWallOnly(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1, noCaller: true} })
	force(e, childMethod, settings{rate: 1, noCaller: true})
	before := childMethod.Calls()
	call := childMethod.Begin()
	call.End()
	call.End()
	if calls, records := childMethod.Calls()-before, len(e.ring.Dequeue(nil, 10)); calls != 1 || records != 2 {
		t.Errorf("%d calls, %d records", calls, records)
	}
}

func TestEndError_ReadsAtEnd(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1} })
	f := func(fail bool) (err error) {
		defer childMethod.Begin().EndError(&err)
		if fail {
			return errors.New("x")
		}
		return nil
	}
	f(true)
	f(false)
	childMethod.Begin().EndError(nil)
	r := e.ring.Dequeue(nil, 10)
	if len(r) != 3 || !r[0].failed || r[1].failed || r[2].failed {
		t.Errorf("records %+v", r)
	}
}

// A zero Method and a zero Call do nothing.
func TestZeroValues(t *testing.T) {
	var m Method
	m.Begin().End()
	Call{}.EndError(nil)
	if m.Calls() != 0 || m.Name() != "" {
		t.Error("a zero method counts")
	}
}

func TestNewMethod_SameName(t *testing.T) {
	if NewMethod("called.Child", Rate(0.5)) != childMethod {
		t.Error("another method of the same name")
	}
	if childMethod.options.rate != nil && *childMethod.options.rate == 0.5 {
		t.Error("the later options hold")
	}
}

// A Call fits into registers.
func TestCall_ThreeWords(t *testing.T) {
	if size := unsafe.Sizeof(Call{}); size > 3*unsafe.Sizeof(uintptr(0)) && size > 24 {
		t.Errorf("%d bytes", size)
	}
	if size := unsafe.Sizeof(ring.Place[record]{}); size > 64 {
		t.Errorf("a place of the ring has %d bytes, more than a cache line", size)
	}
}

// A probe that is off costs a load and a branch: Begin and End are inlined.
func TestProbe_Inlined(t *testing.T) {
	out, err := exec.Command("go", "build", "-gcflags=-m=2", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, want := range []string{
		"can inline (*Method).Begin with", "can inline (*Method).BeginContext with",
		"can inline Call.End with", "can inline Call.EndError with",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the compiler does not say: %s", want)
		}
	}
}

// A nil argument means that the setting is absent.
func TestBeginContext_NilContext(t *testing.T) {
	m := NewMethod("called.Nil", nil, Rate(1), nil)
	c := &collector{}
	shutdown, err := Start(nil, nil, WithHTTPClient(c.client()), nil) //nolint:staticcheck // a program may
	if err != nil {
		t.Fatal(err)
	}
	m.BeginContext(nil).End() //nolint:staticcheck // a program may
	if err := shutdown(nil); err != nil {
		t.Error(err)
	}
	if calls := counted(c, t)["called.Nil"]; calls != 1 {
		t.Errorf("%d calls", calls)
	}
}
