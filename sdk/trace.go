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
	// maxHooks bounds the running hooks: a hook can wait for a goroutine whose hook waits for
	// another one, without end.
	maxHooks = 256
	// hookFrames bounds the search for a hook on the stack. A longer stack is treated as if it
	// contained one.
	hookFrames = 512
)

// traceOf calls the program's hook and recovers from its panic. The hook can call probed methods, and
// a chosen call there would call the hook again, without end. So calls within a hook have no trace.
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

// withinHook reports whether the hook that is about to be called is already on the stack, with any
// context. The stack is searched only while another hook runs, which is rare.
//
//go:noinline
func withinHook() bool {
	var pcs [hookFrames]uintptr
	n := runtime.Callers(2, pcs[:]) // from traceOf
	return n == len(pcs) || callers.Recurs(pcs[:n])
}

const maxCorrelation = 512

// correlationText bounds a string from a hook, and makes it valid for sending. It always copies: the
// string can be part of something large, which would stay in memory until the call is sent.
func correlationText(s string) string {
	s = otlp.Text(wholeRunes(s, maxCorrelation)) // replacements of invalid bytes are longer
	return strings.Clone(wholeRunes(s, maxCorrelation))
}

// wholeRunes cuts a string to at most most bytes, never within a rune.
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
