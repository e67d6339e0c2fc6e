package corehour

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/corehour/corehour/sdk/internal/frames"
)

var (
	shapedOuter = NewMethod("shaped.Outer")
	shapedInner = NewMethod("shaped.Inner")
	shapedSmall = NewMethod("shaped.Small")
	shapedValue = NewMethod("github.com/corehour/corehour/sdk.shapedType.Method")
)

//go:noinline
func shapeOuter(f func()) {
	defer shapedOuter.Begin().End()
	f()
}

//go:noinline
func shapeInner() { defer shapedInner.Begin().End() }

// shapeSmall is inlined, with its probe in it, and so are those that call it.
func shapeSmall() {
	call := shapedSmall.Begin()
	shapeInner()
	call.End()
}

func shapeAround()     { shapeSmall() }
func shapeMoreAround() { shapeAround() }

// shapedType is called through the wrappers that the compiler makes.
type shapedType struct{ _ int }

//go:noinline
func (shapedType) Method() {
	defer shapedValue.Begin().End()
	shapeInner()
}

type shapedInterface interface{ Method() }

type shapedEmbedding struct{ *shapedType }

//go:noinline
func shapeGeneric[T any](x T, f func()) T {
	f()
	return x
}

//go:noinline
func shapeDeep(n int, f func()) {
	if n > 0 {
		shapeDeep(n-1, f)
		return
	}
	f()
}

// A stack walked by its frame pointers tells the callers that runtime.Callers tells,
// whatever the compiler has inlined and wrapped, at the first look at a place and at
// later ones.
func TestCallers_WalkedEqualsUnwound(t *testing.T) {
	shapes := map[string]func(){
		"alone":            shapeInner,
		"plain":            func() { shapeOuter(shapeInner) },
		"inlined":          func() { shapeOuter(shapeMoreAround) },
		"inlined, alone":   shapeMoreAround,
		"off the stack":    func() { shapeOuter(func() { shapeDeep(100, shapeInner) }) },
		"far":              func() { shapeOuter(func() { shapeDeep(30, shapeMoreAround) }) },
		"value":            func() { shapeOuter(shapedType{}.Method) },
		"pointer wrapper":  func() { shapeOuter(shapedInterface(&shapedType{}).Method) },
		"promoted":         func() { shapeOuter(shapedInterface(shapedEmbedding{&shapedType{}}).Method) },
		"pointer promoted": func() { shapeOuter(shapedInterface(&shapedEmbedding{&shapedType{}}).Method) },
		"generic":          func() { shapeOuter(func() { shapeGeneric(1, shapeInner); shapeGeneric("", shapeMoreAround) }) },
		"reflection":       func() { shapeOuter(func() { reflect.ValueOf(shapeInner).Call(nil) }) },
		"reflected method": func() { shapeOuter(func() { reflect.ValueOf(&shapedType{}).Method(0).Call(nil) }) },
		"made function": func() {
			made := reflect.MakeFunc(reflect.TypeFor[func()](), func([]reflect.Value) []reflect.Value { shapeInner(); return nil })
			shapeOuter(made.Interface().(func()))
		},
		"deferred": func() { shapeOuter(func() { defer shapeInner(); defer shapeMoreAround() }) },
		"deferred in a loop": func() {
			shapeOuter(func() {
				for range 3 {
					defer shapeInner()
				}
			})
		},
		"while panicking": func() {
			shapeOuter(func() {
				defer func() { _ = recover(); shapeInner() }()
				defer shapeMoreAround()
				panic("x")
			})
		},
		"after a fault": func() {
			shapeOuter(func() {
				defer func() { _ = recover(); shapeInner() }()
				var nowhere *int
				*nowhere = 1
			})
		},
		"sorting": func() {
			shapeOuter(func() { slices.SortFunc([]int{2, 1}, func(a, b int) int { shapeInner(); return a - b }) })
		},
		"iterator": func() {
			shapeOuter(func() {
				for range func(yield func(int) bool) { shapeInner(); _ = yield(1) } {
					shapeInner()
				}
			})
		},
		"goroutine": func() {
			shapeOuter(func() {
				var running sync.WaitGroup
				running.Go(func() { shapeMoreAround(); shapeOuter(shapeInner) })
				running.Wait()
			})
		},
		"goroutine of a method": func() {
			done := make(chan struct{})
			go func(m shapedInterface) { defer close(done); m.Method() }(&shapedType{})
			<-done
		},
		"once": func() { shapeOuter(func() { new(sync.Once).Do(shapeInner) }) },
		"grown stack": func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				shapeOuter(func() { growing(200, shapeMoreAround) })
			}()
			<-done
		},
	}
	e, _ := startWith(t, func(c *config) { c.defaults = settings{rate: 1} })
	if e.walkable != frames.Available {
		t.Errorf("stacks are walked: %t", e.walkable)
	}
	trusted := e.walkable
	for name, shape := range shapes {
		var texts []string
		for _, walkable := range []bool{trusted, false, trusted, trusted} {
			e.walkable = walkable
			for _, m := range []*Method{shapedOuter, shapedInner, shapedSmall, shapedValue} {
				renew(e, m, 1)
			}
			shape()
			var lines []string
			for _, r := range e.ring.Dequeue(nil, 1000) {
				lines = append(lines, r.plan.method.name+" by "+callerText(r.caller))
			}
			texts = append(texts, strings.Join(lines, "\n"))
		}
		if texts[0] != texts[1] || texts[2] != texts[1] || texts[3] != texts[1] || texts[1] == "" {
			t.Errorf("%s: walked for the first time\n%s\nby runtime.Callers\n%s\nwalked again\n%s\nfrom the caller cache\n%s", name, texts[0], texts[1], texts[2], texts[3])
		}
	}
}

//go:noinline
func growing(n int, f func()) byte {
	var frame [512]byte
	if n > 0 {
		frame[n%512] = growing(n-1, func() {})
	}
	if n == 200 {
		f()
	}
	return frame[0]
}
