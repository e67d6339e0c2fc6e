package corehour

import (
	"context"
	"runtime"
	"strings"
)

const (
	// stackFrames is how far up a stack is read, stackBytes how long it may be
	// when written.
	stackFrames = nearFrames + farFrames
	stackBytes  = 4096
	// stackCut stands for the outer frames of a stack that is longer than that.
	stackCut = "(cut)"
)

// timeStacked times a chosen call that carries its stack, which begins with these
// frames.
//
//go:noinline
func (pl *plan) timeStacked(ctx context.Context, near []uintptr, reached int64) Call {
	var pcs [stackFrames]uintptr
	n := copy(pcs[:], near)
	if n == nearFrames {
		n += runtime.Callers(framesToCaller+2+nearFrames, pcs[n:])
	}
	caller, stack := pl.method.stackOf(pcs[:n])
	return pl.time(ctx, caller, stack, reached)
}

// stackOf joins the methods on a stack that are on, the outermost first and m the
// last, and tells the caller. Both are unknown where the frames do not begin with
// m's own.
func (m *Method) stackOf(pcs []uintptr) (caller *Method, stack string) {
	if len(pcs) == 0 || ownerAt(pcs[0]) != m {
		return nil, ""
	}
	var chain [stackFrames + 1]string // from the innermost
	chain[0] = stackName(m)
	n, size := 1, len(chain[0])
	var above *Method
	cut := len(pcs) == stackFrames
	for _, pc := range pcs[1:] {
		owner := ownerAt(pc)
		if !owner.mayCall() {
			continue
		}
		if above == nil {
			above = owner
		}
		name := stackName(owner)
		if size += 1 + len(name); size > stackBytes-len(stackCut)-1 {
			cut = true
			break
		}
		chain[n] = name
		n++
	}
	if cut {
		chain[n] = stackCut
		n++
	}
	var b strings.Builder
	b.Grow(stackBytes / 8)
	for i := n - 1; i >= 0; i-- {
		b.WriteString(chain[i])
		if i > 0 {
			b.WriteByte(';')
		}
	}
	switch {
	case above != nil:
		caller = known(above)
	case len(pcs) < stackFrames:
		caller = entry
	}
	return caller, b.String()
}

// stackName returns a method's name in a stack, whose separator no name may hold.
func stackName(m *Method) string { return strings.ReplaceAll(m.normal, ";", ",") }
