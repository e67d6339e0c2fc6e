package corehour

import (
	"slices"
	"sync/atomic"
)

// The caller cache of a method: the same few lines of code call a method again and
// again, so the caller that was found for a stack is kept with the method. The next
// call then reads two cold cache lines instead of five for each frame.

// callersChanged counts the changes that invalidate caller caches: a function is found
// to hold a probe, or several; a method is switched on or off.
var callersChanged atomic.Uint64

const (
	callerCacheSize   = 8
	callerCacheFrames = 13 // which makes an entry two cache lines
)

// cachedStack is a stack above a method's frame, and the caller found in it.
type cachedStack struct {
	generation uint64 // callersChanged before the caller was searched
	caller     *Method
	frames     int16
	ended      bool // the stack ends with these frames
	pcs        [callerCacheFrames]uintptr
}

// callerCacheEntry returns the place for a stack, by the address that the method returns
// to.
func (m *Method) callerCacheEntry(pcs []uintptr) *atomic.Pointer[cachedStack] {
	const goldenRatio = 0x9E3779B97F4A7C15
	return &m.callerCache[uint64(pcs[min(1, len(pcs)-1)])*goldenRatio>>61%callerCacheSize]
}

// cachedCaller returns the caller if the stack is in the cache. pcs is not empty.
func (m *Method) cachedCaller(pcs []uintptr, ended bool) (caller *Method, found bool) {
	c := m.callerCacheEntry(pcs).Load()
	if c == nil || c.generation != callersChanged.Load() {
		return nil, false
	}
	n := int(c.frames)
	if n > len(pcs) || c.ended && (!ended || n < len(pcs)) || !slices.Equal(c.pcs[:n], pcs[:n]) {
		return nil, false
	}
	return c.caller, true
}

// cacheCaller keeps the caller found in the first frames of a stack. An entry stays until
// callersChanged invalidates it, which bounds the allocations.
func (m *Method) cacheCaller(generation uint64, pcs []uintptr, frames int, caller *Method) {
	if frames > callerCacheFrames {
		return
	}
	at := m.callerCacheEntry(pcs)
	old := at.Load()
	if old != nil && old.generation == generation {
		return
	}
	c := &cachedStack{generation: generation, caller: caller, frames: int16(frames), ended: caller == entry}
	copy(c.pcs[:], pcs[:frames])
	at.CompareAndSwap(old, c)
}
