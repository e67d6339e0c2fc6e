// Package callers finds the caller of a method: the nearest function up the stack whose method is on.
//
// Its invariant: a caller equals the result of runtime.Callers, or is unknown. Its tables of addresses,
// functions and stacks are bounded; beyond the bounds a search takes longer, or the caller is unknown.
//
// It does not read the stack of a call whose caller is near: each function between the stack and its
// reader costs as much as a clock reading.
package callers

import (
	"sync/atomic"
	"unsafe"
)

// Owner is a method seen by its callees: it owns the function that holds its probe.
type Owner struct {
	Name      string                    // class.method
	Attribute []byte                    // its name as a caller, encoded
	On        func() bool               // reports whether the method is on; only such methods are callers
	cache     [cacheSize]unsafe.Pointer // *cachedStack; with atomic.Pointer, packages with probes would compile its generic code
}

// Entry means that the caller was searched and there is none.
var Entry = &Owner{Name: "(entry)"}

// ambiguous is the owner of a function that holds the probes of several methods. A frame of it does
// not identify one of them.
var ambiguous = &Owner{Name: "(ambiguous)", On: func() bool { return true }}

// changes counts events that invalidate caches: a function turns out to hold a probe, or several, or
// a method is switched on or off.
var changes atomic.Uint64

// Switched invalidates the caches after a method was switched on or off.
func Switched() { changes.Add(1) }

// Declare records that the function with the method's name holds its probe.
func (o *Owner) Declare() {
	if f := functionNamed(o.Name); f != nil && f.owner.CompareAndSwap(nil, o) {
		changes.Add(1)
	}
}

// Locate records that the function at pc holds the method's probe, so that callees find it on the
// stack, whatever the method's name is.
func (o *Owner) Locate(pc uintptr) { siteAt(pc).functions[0].holds(o) }

// mayCall reports whether the owner of a frame, which can be nil, is on.
func (o *Owner) mayCall() bool { return o != nil && o.On() }

func known(caller *Owner) *Owner {
	if caller == ambiguous {
		return nil
	}
	return caller
}
