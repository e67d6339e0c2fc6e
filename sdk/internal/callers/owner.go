// Package callers finds who called a method: the nearest function up the stack whose method is on.
//
// Its invariant: a caller is the one that runtime.Callers shows, or unknown. What it keeps of addresses,
// functions and stacks is bounded; beyond the bounds callers take longer to find, or are unknown.
//
// It does not read the stack of a call that is found near: each function more between the stack and its
// reader costs as much as a reading of the clock.
package callers

import (
	"sync/atomic"
	"unsafe"
)

// Owner is a method as its callees see it: it owns the function that holds its probe.
type Owner struct {
	Name      string                    // class.method
	Attribute []byte                    // names it as a caller, encoded
	On        func() bool               // whether the method is on: others call nothing
	cache     [cacheSize]unsafe.Pointer // of *cachedStack: packages with probes would compile an atomic.Pointer
}

// Entry stands for "looked for a caller and there is none".
var Entry = &Owner{Name: "(entry)"}

// ambiguous stands for a function that holds the probes of several methods, so that a frame of it does
// not tell which.
var ambiguous = &Owner{Name: "(ambiguous)", On: func() bool { return true }}

// changes counts what invalidates caches: a function is found to hold a probe, or several; a method is
// switched on or off.
var changes atomic.Uint64

// Switched notes that a method is on now, or is no longer.
func Switched() { changes.Add(1) }

// Declare notes that the function with the method's name holds its probe.
func (o *Owner) Declare() {
	if f := functionNamed(o.Name); f != nil && f.owner.CompareAndSwap(nil, o) {
		changes.Add(1)
	}
}

// Locate notes that the function at an address holds the method's probe, so that callees find it on the
// stack, whatever name the method was given.
func (o *Owner) Locate(pc uintptr) { siteAt(pc).functions[0].holds(o) }

// mayCall reports whether the owner of a frame, nil if it has none, is on.
func (o *Owner) mayCall() bool { return o != nil && o.On() }

func known(caller *Owner) *Owner {
	if caller == ambiguous {
		return nil
	}
	return caller
}
