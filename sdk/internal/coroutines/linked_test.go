package coroutines

import (
	"runtime"
	"testing"
)

// This program, which is the tests, has no coroutines, and that is found out from where
// every goroutine ends.
func TestNone(t *testing.T) {
	if name := runtime.FuncForPC(bottomOfStack()).Name(); name != "runtime.goexit" {
		t.Errorf("a goroutine ends in %s", name)
	}
	if why := Possible(); why != "" {
		t.Error(why)
	}
}

// A walk that begins too low has not seen all of the runtime, and one that begins
// nowhere has seen nothing.
func TestPossible_IncompleteWalk(t *testing.T) {
	lowest := bottomOfStack()
	for f := runtime.FuncForPC(lowest); f != nil; f = runtime.FuncForPC(f.Entry() - 1) {
		lowest = f.Entry()
	}
	for name, pc := range map[string]uintptr{"nowhere": 0, "the lowest function": lowest} {
		if why := possible(pc); why != strange {
			t.Errorf("from %s: %q", name, why)
		}
	}
}

func BenchmarkPossible(b *testing.B) {
	bottom := bottomOfStack()
	for b.Loop() {
		possible(bottom)
	}
}
