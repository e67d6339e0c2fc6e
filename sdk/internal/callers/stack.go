package callers

import "strings"

const (
	// StackFrames is the number of frames of a recorded stack.
	StackFrames = Near + Far
	// stackBytes is the maximum length of a written stack.
	stackBytes = 4096
	// stackCut replaces the outer frames of a longer stack.
	stackCut = "(cut)"
)

// Stack joins the methods on a stack that are on, outermost first and o last, and returns the caller.
// Both are unknown if the frames do not begin with o's own.
func (o *Owner) Stack(pcs []uintptr) (caller *Owner, stack string) {
	if len(pcs) == 0 || ownerAt(pcs[0]) != o {
		return nil, ""
	}
	var chain [StackFrames + 1]string // innermost first
	chain[0] = stackName(o)
	n, size := 1, len(chain[0])
	var above *Owner
	cut := len(pcs) == StackFrames
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
	case len(pcs) < StackFrames:
		caller = Entry
	}
	return caller, b.String()
}

// stackName returns a method's name in a stack, without the separator.
func stackName(o *Owner) string { return strings.ReplaceAll(o.Name, ";", ",") }
