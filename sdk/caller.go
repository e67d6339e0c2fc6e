package corehour

import (
	"runtime"

	"github.com/corehour/corehour/sdk/internal/frames"
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

// declareFunction records that the function with the method's name holds its probe.
func declareFunction(m *Method) {
	if f := functionNamed(m.normal); f != nil && f.owner.CompareAndSwap(nil, m) {
		callersChanged.Add(1)
	}
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
// begins with the method's own frame and has been read so far up. nil = unknown;
// more = the caller may be further up.
func (m *Method) callerAmong(pcs []uintptr, up int) (caller *Method, more bool) {
	if len(pcs) == 0 || ownerAt(pcs[0]) != m {
		return nil, false // another method's probe in the same function: it may be the caller, or not
	}
	if caller := nearest(pcs[1:]); caller != nil {
		return known(caller), false
	}
	return entry, len(pcs) == up
}

// callerAmongFar searches on where the near frames end.
func callerAmongFar(pcs []uintptr) *Method {
	if caller := nearest(pcs); caller != nil {
		return known(caller)
	}
	if len(pcs) < farFrames {
		return entry
	}
	return nil
}

// findCaller searches every frame of a stack that begins as callerWalked needs it.
//
//go:noinline
func (m *Method) findCaller(pcs []uintptr, ended bool) *Method {
	generation := callersChanged.Load()
	caller, looked, because := m.callerWalked(pcs, ended)
	if looked > 0 {
		m.cacheCaller(generation, pcs, looked, caller)
		return caller
	}
	if because == 0 && !ended {
		caller, looked, because = m.callerWalkedFar()
	}
	if looked == 0 {
		caller = m.callerUnwound(because)
	}
	return caller
}

// callerWalked is callerAmong for a stack walked by its frame pointers, which begins
// with the frame that Begin and perhaps the method are inlined into. looked = how many
// frames decided it; 0 = undecided, because of the site at this address if there is one.
func (m *Method) callerWalked(pcs []uintptr, ended bool) (caller *Method, looked int, because uintptr) {
	place := -1 // of a function in the stack; Begin is before the method's own
	for i, pc := range pcs {
		s := siteAt(pc)
		if !s.whole {
			return nil, 0, pc
		}
		if s.wrapper {
			continue
		}
		for _, f := range s.functions {
			owner := f.owner.Load()
			switch {
			case place > 0 && owner.mayCall():
				return known(owner), i + 1, 0
			case place == 0 && owner != m:
				return nil, i + 1, 0
			}
			place++
		}
	}
	if ended && place > 0 {
		return entry, len(pcs), 0
	}
	return nil, 0, 0
}

// callerWalkedFar walks further up, from the same frame.
//
//go:noinline
func (m *Method) callerWalkedFar() (caller *Method, looked int, because uintptr) {
	var pcs [nearFrames + farFrames + 4]uintptr
	n, ended := frames.Walk(&pcs[0], len(pcs))
	if n < 4 {
		return nil, 0, 0
	}
	return m.callerWalked(pcs[4:n], ended) // without callerLookedFor, timeWalked, reached and begin
}

// callerUnwound finds the caller by runtime.Callers, and learns the site that could not
// be resolved before.
//
//go:noinline
func (m *Method) callerUnwound(because uintptr) *Method {
	var pcs [1 + nearFrames + farFrames]uintptr
	n := runtime.Callers(framesToCaller+2, pcs[:]) // from Begin, with timeWalked and two functions below
	if because != 0 {
		if s := siteAt(because); !s.tried {
			learn(pcs[:n])
			if !siteAt(because).whole {
				hopeless := *s
				hopeless.tried = true
				remember(because, &hopeless)
			}
		}
	}
	if n == 0 {
		return nil
	}
	caller, more := m.callerAmong(pcs[1:n], nearFrames+farFrames)
	if more {
		return nil
	}
	return caller
}

func nearest(pcs []uintptr) *Method {
	for _, pc := range pcs {
		if owner := ownerAt(pc); owner.mayCall() {
			return owner
		}
	}
	return nil
}

// mayCall reports whether the method of a frame, nil if it has none, is on.
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
	return siteAt(pc).functions[0].owner.Load()
}

// locate learns at the first call which function holds the probe, so that callees
// find it on the stack whatever name the method was given, and switches on those
// that were parked until this method runs.
//
//go:noinline
func (m *Method) locate() {
	var pcs [1]uintptr
	if runtime.Callers(framesToCaller+1, pcs[:]) == 1 {
		siteAt(pcs[0]).functions[0].holds(m)
	}
	if m.node != nil {
		for _, callee := range m.node.callees {
			callee.activate()
		}
	}
	m.located.Store(true)
}

// holds records that the function holds the method's probe. First calls may do so
// concurrently.
func (f *function) holds(m *Method) {
	if f.owner.Load() == m {
		return
	}
	if !f.owner.CompareAndSwap(nil, m) {
		if f.owner.Load() == m {
			return
		}
		f.owner.Store(ambiguous)
	}
	callersChanged.Add(1)
}
