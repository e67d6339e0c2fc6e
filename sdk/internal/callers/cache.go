package callers

import (
	"slices"
	"sync/atomic"
	"unsafe"
)

// The caller cache of a method. The same few lines of code call a method again and again, so the
// method keeps the caller found for a stack. The next call reads two cold cache lines instead of
// five per frame.

const (
	cacheSize   = 8
	cacheFrames = 13 // an entry then fills two cache lines
)

// cachedStack is a stack above a method's frame, with its caller.
type cachedStack struct {
	generation uint64 // value of changes before the search
	caller     *Owner
	frames     int16
	ended      bool // the stack ends with these frames
	pcs        [cacheFrames]uintptr
}

// cacheEntry returns the cache slot for a stack, selected by the method's return address.
func (o *Owner) cacheEntry(pcs []uintptr) *unsafe.Pointer {
	const goldenRatio = 0x9E3779B97F4A7C15
	return &o.cache[uint64(pcs[min(1, len(pcs)-1)])*goldenRatio>>61%cacheSize]
}

// Cached returns the caller if the stack is in the cache. pcs must not be empty.
func (o *Owner) Cached(pcs []uintptr, ended bool) (caller *Owner, found bool) {
	c := (*cachedStack)(atomic.LoadPointer(o.cacheEntry(pcs)))
	if c == nil || c.generation != changes.Load() {
		return nil, false
	}
	n := int(c.frames)
	if n > len(pcs) || c.ended && (!ended || n < len(pcs)) || !slices.Equal(c.pcs[:n], pcs[:n]) {
		return nil, false
	}
	return c.caller, true
}

// keep stores the caller found in the first frames of a stack. An entry stays until changes
// invalidates it, which bounds the allocations.
func (o *Owner) keep(generation uint64, pcs []uintptr, frames int, caller *Owner) {
	if frames > cacheFrames {
		return
	}
	at := o.cacheEntry(pcs)
	old := atomic.LoadPointer(at)
	if old != nil && (*cachedStack)(old).generation == generation {
		return
	}
	c := &cachedStack{generation: generation, caller: caller, frames: int16(frames), ended: caller == Entry}
	copy(c.pcs[:], pcs[:frames])
	atomic.CompareAndSwapPointer(at, old, unsafe.Pointer(c))
}
