package corehour

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/corehour/corehour/sdk/internal/export"
)

var (
	hooked   = NewMethod("hooked.Method")
	hookUses = NewMethod("hooked.Used")
)

// A hook can call probed methods, with any context and at any depth: a chosen call within it has no trace,
// and all of them end.
func TestTraceHook_Probed(t *testing.T) {
	uses := func(ctx context.Context) { hookUses.BeginContext(ctx).End() }
	type key struct{}
	for what, within := range map[string]func(context.Context){
		"its own context":     uses,
		"a context of it":     func(ctx context.Context) { uses(context.WithValue(ctx, key{}, 1)) },
		"the background":      func(context.Context) { uses(context.Background()) },
		"no context":          func(context.Context) { uses(nil) },
		"several times":       func(ctx context.Context) { uses(ctx); uses(ctx); uses(ctx) },
		"the method itself":   func(ctx context.Context) { hooked.BeginContext(ctx).End() },
		"deep below the hook": func(ctx context.Context) { below(2*hookFrames, func() { uses(ctx) }) },
	} {
		t.Run(what, func(t *testing.T) {
			asked := 0
			e, _ := startWith(t, func(c *config) {
				c.defaults = settings{rate: 1}
				c.traceContext = func(ctx context.Context) (TraceContext, bool) {
					if asked++; asked > 100 {
						t.Fatal("the hook is asked again and again") // ends the goroutine
					}
					within(ctx)
					return TraceContext{TraceID: [16]byte{1}}, true
				}
			})
			for range 2 { // the second time as the first
				hooked.BeginContext(context.Background()).End()
			}
			if asked != 2 {
				t.Errorf("the hook was asked %d times for 2 calls", asked)
			}
			all, traced := e.ring.Dequeue(nil, 100), 0
			for _, r := range all {
				if r.traced() {
					traced++
				}
			}
			if traced != 2 || len(all) < 4 {
				t.Errorf("%d of %d records have a trace", traced, len(all))
			}
			if e.hooks.Load() != 0 || e.counters.traceFaults.Load() != 0 {
				t.Errorf("%d hooks running, %d faults", e.hooks.Load(), e.counters.traceFaults.Load())
			}
		})
	}
}

//go:noinline
func below(frames int, f func()) {
	if frames > 0 {
		below(frames-1, f)
		return
	}
	f()
}

// A hook that waits for a goroutine with probed calls ends as well.
func TestTraceHook_WaitsForOthers(t *testing.T) {
	e, _ := startWith(t, func(c *config) {
		c.defaults = settings{rate: 1}
		c.traceContext = func(context.Context) (TraceContext, bool) {
			var other sync.WaitGroup
			other.Go(func() { hookUses.BeginContext(context.Background()).End() })
			other.Wait()
			return TraceContext{TraceID: [16]byte{1}}, true
		}
	})
	hooked.BeginContext(context.Background()).End()
	if n := len(e.ring.Dequeue(nil, 2*maxHooks)); n != maxHooks+1 {
		t.Errorf("%d calls", n)
	}
	if e.hooks.Load() != 0 || Stats().TraceFaults != 1 {
		t.Errorf("%d hooks running, %d faults", e.hooks.Load(), Stats().TraceFaults)
	}
}

// Calls of other goroutines have their traces while a hook runs.
func TestTraceHook_Concurrent(t *testing.T) {
	const calls = 16
	var meet sync.WaitGroup
	meet.Add(calls)
	e, _ := startWith(t, func(c *config) {
		c.defaults = settings{rate: 1}
		c.traceContext = func(context.Context) (TraceContext, bool) {
			meet.Done()
			meet.Wait()
			return TraceContext{TraceID: [16]byte{1}}, true
		}
	})
	var running sync.WaitGroup
	for range calls {
		running.Go(func() { hooked.BeginContext(context.Background()).End() })
	}
	running.Wait()
	for _, r := range e.ring.Dequeue(nil, 100) {
		if !r.traced() {
			t.Error("a call has no trace")
		}
	}
}

// Text from a hook is bounded, valid, and never a slice of the original.
func TestTraceHook_TextBounded(t *testing.T) {
	given := ""
	e, _ := startWith(t, func(c *config) {
		c.defaults = settings{rate: 1}
		c.traceContext = func(context.Context) (TraceContext, bool) {
			return TraceContext{TraceID: [16]byte{1}, RequestID: given, Group: given}, true
		}
	})
	for what, c := range map[string]struct{ given, want string }{
		"nothing":              {"", ""},
		"short":                {"r-1", "r-1"},
		"as long as may be":    {strings.Repeat("x", 512), strings.Repeat("x", 512)},
		"too long":             {strings.Repeat("x", 1<<20), strings.Repeat("x", 512)},
		"cut before a rune":    {strings.Repeat("x", 510) + "\u20ac" + "x", strings.Repeat("x", 510)},
		"cut after a rune":     {strings.Repeat("x", 509) + "\u20ac" + "x", strings.Repeat("x", 509) + "\u20ac"},
		"no text":              {"a\xffb", "a\uFFFDb"},
		"no text, and longer":  {strings.Repeat("a\xff", 256), strings.Repeat("a\uFFFD", 128)},
		"nothing but rests":    {strings.Repeat("\x80", 600), "\uFFFD"},
		"a piece of something": {strings.Repeat("y", 1<<20)[:3], "yyy"},
	} {
		given = c.given
		hooked.BeginContext(context.Background()).End()
		r := e.ring.Dequeue(nil, 2)
		if len(r) != 1 || !r[0].traced() {
			t.Fatalf("%s: records %+v", what, r)
		}
		for _, got := range []string{r[0].extra.trace.RequestID, r[0].extra.trace.Group} {
			if got != c.want || len(got) > 512 || !utf8.ValidString(got) {
				t.Errorf("%s: %q", what, got)
			}
			if got != "" && unsafe.StringData(got) == unsafe.StringData(given) {
				t.Errorf("%s: the hook's own is kept", what)
			}
		}
	}
}

// The memory of an unusually large request is released.
func TestSender_ReleasesLargeBuffers(t *testing.T) {
	e, c := startWith(t, func(c *config) {})
	const large = 2 * export.KeptBuffer
	capacities := func() (span, done int) {
		w := reflect.ValueOf(&e.spans).Elem()
		return w.FieldByName("span").Cap(), w.FieldByName("done").Cap()
	}
	e.spans.Begin()
	e.spans.Text("large", strings.Repeat("x", large))
	e.spans.End()
	if span, done := capacities(); span < large || done < large {
		t.Fatalf("%d and %d bytes for a span of %d", span, done, large)
	}
	e.encode(nil, &request{})
	if span, done := capacities(); span > export.KeptBuffer || done > export.KeptBuffer {
		t.Errorf("kept for requests of %d records: %d and %d bytes", c.batch, span, done)
	}
}
