package corehour

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/corehour/corehour/sdk/internal/otlp"
)

// entry stands for "looked for a caller and there is none", ambiguous for a
// function that begins several methods, so that a frame of it does not tell which.
var (
	entry     = &Method{normal: "(entry)", callerAttr: callerAttribute("(entry)")}
	ambiguous = &Method{normal: "(ambiguous)"}
)

func callerAttribute(normal string) []byte {
	return otlp.StringAttribute(nil, otlp.SpanAttributes, attrCaller, normal)
}

// function is a function seen on a stack, and the method whose probe it holds.
type function struct {
	owner atomic.Pointer[Method]
}

const (
	// maxFunctions bounds the functions known by name. A stack frame of one
	// beyond it makes the caller unknown.
	maxFunctions = 1 << 16
	// addressTable and addressProbes bound the addresses remembered; others are
	// resolved each time.
	addressTable  = 1 << 13
	addressProbes = 8
)

var functions = struct {
	mu     sync.Mutex
	byName map[string]*function
}{byName: map[string]*function{}}

func functionNamed(name string) *function {
	functions.mu.Lock()
	defer functions.mu.Unlock()
	f, ok := functions.byName[name]
	if !ok {
		if len(functions.byName) >= maxFunctions {
			return nil
		}
		f = new(function)
		functions.byName[name] = f
	}
	return f
}

// declareFunction says that the function with the method's name holds its probe.
func declareFunction(m *Method) {
	if f := functionNamed(m.normal); f != nil {
		f.owner.CompareAndSwap(nil, m)
	}
}

// addresses maps return addresses to functions, without a lock to read. A slot
// is claimed by its key; a reader that meets a key without function resolves it
// by itself.
var addresses [addressTable]struct {
	pc       atomic.Uintptr
	function atomic.Pointer[function]
}

func functionAt(pc uintptr) *function {
	h := uint64(pc) * 0x9E3779B97F4A7C15 >> 32
	for i := range uint64(addressProbes) {
		a := &addresses[(h+i)%addressTable]
		key := a.pc.Load()
		if key == 0 && a.pc.CompareAndSwap(0, pc) {
			f := resolve(pc)
			a.function.Store(f)
			return f
		}
		if key == 0 {
			key = a.pc.Load()
		}
		if key == pc {
			if f := a.function.Load(); f != nil {
				return f
			}
			break
		}
	}
	return resolve(pc)
}

func resolve(pc uintptr) *function {
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return functionNamed(runtimeName(frame.Function))
}

const (
	// framesToCaller is how many frames reached sees from runtime.Callers to the
	// method: Callers, reached, begin, and Begin, which is inlined into the method
	// but has a frame of its own all the same.
	framesToCaller = 4
	nearFrames     = 16
	farFrames      = 48
)

// callerAmong looks for the nearest frame whose method is on, in a stack that
// begins with the method's own frame. nil = unknown; far = further up, perhaps.
func (m *Method) callerAmong(pcs []uintptr) (caller *Method, far bool) {
	if len(pcs) == 0 || ownerAt(pcs[0]) != m {
		return nil, false // another method's probe in the same function: it may be the caller, or not
	}
	if caller := nearest(pcs[1:]); caller != nil {
		return known(caller), false
	}
	return entry, len(pcs) == nearFrames
}

// callerAmongFar goes on where the near frames end.
func callerAmongFar(pcs []uintptr) *Method {
	if caller := nearest(pcs); caller != nil {
		return known(caller)
	}
	if len(pcs) < farFrames {
		return entry
	}
	return nil
}

func nearest(pcs []uintptr) *Method {
	for _, pc := range pcs {
		if owner := ownerAt(pc); owner.mayCall() {
			return owner
		}
	}
	return nil
}

// mayCall tells whether the method of a frame, nil if it has none, is on.
func (m *Method) mayCall() bool {
	return m != nil && (m == ambiguous || m.plan.Load() != nil)
}

func known(caller *Method) *Method {
	if caller == ambiguous {
		return nil
	}
	return caller
}

func ownerAt(pc uintptr) *Method {
	f := functionAt(pc)
	if f == nil {
		return ambiguous
	}
	return f.owner.Load()
}

// locate learns at the first call which function holds the probe, so that callees
// find it on the stack whatever name the method was given.
//
//go:noinline
func (m *Method) locate() {
	var pcs [1]uintptr
	if runtime.Callers(framesToCaller+1, pcs[:]) == 1 {
		if f := functionAt(pcs[0]); f != nil && !f.owner.CompareAndSwap(nil, m) && f.owner.Load() != m {
			f.owner.Store(ambiguous)
		}
	}
	m.located.Store(true)
}
