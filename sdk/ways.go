package corehour

import (
	"slices"
	"sync/atomic"
)

// A chosen call seldom comes by a new way: the same few lines of code call a method
// again and again. What was found on a way up the stack is kept with the method, so
// that the next call needs two cache lines of memory that is cold by then, and not
// the five that each of its frames leads to.

// callersChanged counts what may give a way another caller: a function is found to
// hold a probe, or not to tell which; a method is switched on or off.
var callersChanged atomic.Uint64

const (
	waysOfMethod = 8
	framesOfWay  = 13 // which makes a way two cache lines
)

// way is how a stack led from a method's frame to its caller.
type way struct {
	as     uint64 // callersChanged before the caller was looked for
	caller *Method
	frames int16
	ended  bool // the stack ends with these frames
	pcs    [framesOfWay]uintptr
}

// wayOf returns the place for a way, by the address that the method returns to.
func (m *Method) wayOf(pcs []uintptr) *atomic.Pointer[way] {
	const goldenRatio = 0x9E3779B97F4A7C15
	return &m.ways[uint64(pcs[min(1, len(pcs)-1)])*goldenRatio>>61%waysOfMethod]
}

// callerByWay is the caller if the stack was met before. pcs is not empty.
func (m *Method) callerByWay(pcs []uintptr, ended bool) (caller *Method, found bool) {
	w := m.wayOf(pcs).Load()
	if w == nil || w.as != callersChanged.Load() {
		return nil, false
	}
	n := int(w.frames)
	if n > len(pcs) || w.ended && (!ended || n < len(pcs)) || !slices.Equal(w.pcs[:n], pcs[:n]) {
		return nil, false
	}
	return w.caller, true
}

// keepWay remembers which caller so many frames led to. The first way to a place
// stays until it no longer holds, so that what is allocated is bounded by what changes.
func (m *Method) keepWay(as uint64, pcs []uintptr, frames int, caller *Method) {
	if frames > framesOfWay {
		return
	}
	at := m.wayOf(pcs)
	old := at.Load()
	if old != nil && old.as == as {
		return
	}
	w := &way{as: as, caller: caller, frames: int16(frames), ended: caller == entry}
	copy(w.pcs[:], pcs[:frames])
	at.CompareAndSwap(old, w)
}
