package corehour

import (
	"context"
	"runtime"
)

const (
	// maxHooks bounds the hooks under way: a hook that waits for another goroutine may
	// have begun that one, and it the next.
	maxHooks = 256
	// hookFrames is how far up a hook is looked for. A stack that is longer may have
	// one above.
	hookFrames = 512
)

// traceOf asks the program's hook, which may panic: not through us. It may also call
// what is probed, and a call chosen there would ask it again, without end: such a call
// has no trace.
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
		x = &extra{trace: found, traced: true}
	}
	return x
}

// withinHook tells whether the hook that is about to be asked is already on the stack,
// whatever context it has passed on. It is only looked for while there is another one
// under way, which is seldom.
//
//go:noinline
func withinHook() bool {
	var pcs [hookFrames]uintptr
	n := runtime.Callers(2, pcs[:]) // from traceOf
	asking := siteAt(pcs[0]).functions[0]
	for _, pc := range pcs[1:n] {
		if siteAt(pc).functions[0] == asking {
			return true
		}
	}
	return n == len(pcs)
}
