package callers

import (
	"runtime"

	"github.com/corehour/corehour/sdk/internal/frames"
)

const (
	// Near is the number of frames read first, Far the number of further frames if no caller is
	// among them.
	Near = 16
	Far  = 48
	// below is the number of SDK functions between a method's Begin and Find: begin, reached and
	// timeWalked.
	below = 3
)

// Among returns the nearest frame whose method is on, in a stack that begins with the method's own
// frame. up is the number of frames read so far. caller is nil if unknown; more reports whether the
// caller can be further up.
func (o *Owner) Among(pcs []uintptr, up int) (caller *Owner, more bool) {
	if len(pcs) == 0 || ownerAt(pcs[0]) != o {
		return nil, false // another method's probe in the same function: it is unknown which one calls
	}
	if caller := nearest(pcs[1:]); caller != nil {
		return known(caller), false
	}
	return Entry, len(pcs) == up
}

// AmongFar continues the search after the near frames.
func AmongFar(pcs []uintptr) *Owner {
	if caller := nearest(pcs); caller != nil {
		return known(caller)
	}
	if len(pcs) < Far {
		return Entry
	}
	return nil
}

// Find searches every frame of a stack in the form that walked expects.
//
//go:noinline
func (o *Owner) Find(pcs []uintptr, ended bool) *Owner {
	generation := changes.Load()
	caller, looked, because := o.walked(pcs, ended)
	if looked > 0 {
		o.keep(generation, pcs, looked, caller)
		return caller
	}
	if because == 0 && !ended {
		caller, looked, because = o.walkedFar()
	}
	if looked == 0 {
		caller = o.unwound(because)
	}
	return caller
}

// walked is Among for a stack walked by its frame pointers. It begins with the frame that contains
// Begin and perhaps the inlined method. looked is the number of frames that decided it, or 0 if the
// site at the address because must be resolved first.
func (o *Owner) walked(pcs []uintptr, ended bool) (caller *Owner, looked int, because uintptr) {
	place := -1 // index of a function in the stack; Begin comes before the method's own
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
			case place == 0 && owner != o:
				return nil, i + 1, 0
			}
			place++
		}
	}
	if ended && place > 0 {
		return Entry, len(pcs), 0
	}
	return nil, 0, 0
}

// walkedFar walks further up, from the same frame.
//
//go:noinline
func (o *Owner) walkedFar() (caller *Owner, looked int, because uintptr) {
	const skipped = below + 1 // including Find
	var pcs [skipped + Near + Far]uintptr
	n, ended := frames.Walk(&pcs[0], len(pcs))
	if n < skipped {
		return nil, 0, 0
	}
	return o.walked(pcs[skipped:n], ended)
}

// unwound finds the caller by runtime.Callers, and resolves the site that walked could not.
//
//go:noinline
func (o *Owner) unwound(because uintptr) *Owner {
	var pcs [1 + Near + Far]uintptr
	n := runtime.Callers(below+3, pcs[:]) // starting at Begin: skips Callers, unwound and Find
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
	caller, more := o.Among(pcs[1:n], Near+Far)
	if more {
		return nil
	}
	return caller
}

func nearest(pcs []uintptr) *Owner {
	for _, pc := range pcs {
		if owner := ownerAt(pc); owner.mayCall() {
			return owner
		}
	}
	return nil
}

func ownerAt(pc uintptr) *Owner {
	return siteAt(pc).functions[0].owner.Load()
}
