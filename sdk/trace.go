package corehour

import (
	"context"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/otlp"
)

const (
	// maxHooks bounds the hooks that run: a hook that waits for another goroutine may
	// have begun that one, and it the next.
	maxHooks = 256
	// hookFrames is how far up a hook is searched. A stack that is longer may have
	// one above.
	hookFrames = 512
)

// traceOf calls the program's hook and recovers from its panic. The hook may call probed
// methods, and a call chosen there would call it again, without end: such a call has no
// trace.
//
//go:noinline
func (e *engine) traceOf(ctx context.Context) (x *extra) {
	underWay := e.hooks.Add(1)
	defer func() {
		e.hooks.Add(-1)
		if recover() != nil {
			e.counters.traceFaults.Add(1)
			x = nil
		}
	}()
	if underWay > maxHooks {
		e.counters.traceFaults.Add(1)
		return nil
	}
	if underWay > 1 && withinHook() {
		return nil
	}
	if found, ok := e.traceContext(ctx); ok {
		found.RequestID, found.Group = correlationText(found.RequestID), correlationText(found.Group)
		x = &extra{trace: found, traced: true}
	}
	return x
}

// withinHook reports whether the hook that is about to be asked is already on the stack,
// whatever context it has passed on. The stack is only searched while another hook runs,
// which is seldom.
//
//go:noinline
func withinHook() bool {
	var pcs [hookFrames]uintptr
	n := runtime.Callers(2, pcs[:]) // from traceOf
	return n == len(pcs) || callers.Recurs(pcs[:n])
}

const maxCorrelation = 512

// correlationText bounds a string that a hook gave, and makes it fit to be sent. It is
// always a copy: the hook's may be a piece of something large, which would be kept as
// long as the call waits to be sent.
func correlationText(s string) string {
	s = otlp.Text(wholeRunes(s, maxCorrelation)) // what stands for a byte that is no text is longer
	return strings.Clone(wholeRunes(s, maxCorrelation))
}

// wholeRunes cuts a string to so many bytes, and not within a rune.
func wholeRunes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for end := most; end > most-utf8.UTFMax; end-- {
		if utf8.RuneStart(s[end]) {
			return s[:end]
		}
	}
	return s[:most]
}
