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

// Frames between runtime.Callers and the function that called Begin, which is
// inlined into it but has a frame of its own all the same.
const (
	framesToBegin = 6 // Callers, stack reader, its caller, reached, begin, Begin
	firstFrames   = 16
	moreFrames    = 48
)

// callerOnStack looks for the nearest frame whose method is on. nil = unknown.
func (m *Method) callerOnStack() *Method {
	var pcs [firstFrames]uintptr
	n := runtime.Callers(framesToBegin, pcs[:])
	if n == 0 || ownerAt(pcs[0]) != m {
		return nil // another method's probe in the same function: it may be the caller, or not
	}
	if caller := nearest(pcs[1:n]); caller != nil {
		return known(caller)
	}
	if n < len(pcs) {
		return entry
	}
	return farCaller()
}

// farCaller goes on where the first frames end.
//
//go:noinline
func farCaller() *Method {
	var pcs [moreFrames]uintptr
	n := runtime.Callers(framesToBegin+1+firstFrames, pcs[:])
	if caller := nearest(pcs[:n]); caller != nil {
		return known(caller)
	}
	if n < len(pcs) {
		return entry
	}
	return nil
}

func nearest(pcs []uintptr) *Method {
	for _, pc := range pcs {
		owner := ownerAt(pc)
		if owner != nil && (owner == ambiguous || owner.plan.Load() != nil) {
			return owner
		}
	}
	return nil
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
	if runtime.Callers(framesToBegin-1, pcs[:]) == 1 {
		if f := functionAt(pcs[0]); f != nil && !f.owner.CompareAndSwap(nil, m) && f.owner.Load() != m {
			f.owner.Store(ambiguous)
		}
	}
	m.located.Store(true)
}
