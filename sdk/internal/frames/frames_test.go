package frames

import (
	"runtime"
	"testing"
)

// Where there is a Walk it is trusted, at any depth and on any goroutine.
func TestTrusted(t *testing.T) {
	deeper(t, 0)
	deeper(t, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		deeper(t, 1)
	}()
	<-done
}

//go:noinline
func deeper(t *testing.T, n int) {
	if n > 0 {
		deeper(t, n-1)
		return
	}
	if Trusted() != Available {
		t.Errorf("available: %t, trusted: %t", Available, Trusted())
	}
}

// Walk writes no more than it may, and says whether there is more.
func TestWalk_Bounded(t *testing.T) {
	if !Available {
		return
	}
	var all [64]uintptr
	n, ended := Walk(&all[0], len(all))
	if n < 2 || !ended {
		t.Fatalf("%d frames, the end: %t", n, ended)
	}
	for most := range n + 2 {
		pcs := [64]uintptr{63: 7}
		got, ended := Walk(&pcs[0], most)
		if got != min(most, n) || ended != (most >= n) || pcs[got] != 0 || pcs[63] != 7 {
			t.Errorf("%d frames of at most %d, the end: %t", got, most, ended)
		}
		for i := range got {
			if pcs[i] != all[i] {
				t.Errorf("frame %d is at %x, and then at %x", i, all[i], pcs[i])
			}
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	for b.Loop() {
		var pcs [16]uintptr
		Walk(&pcs[0], len(pcs))
	}
}

func BenchmarkCallers(b *testing.B) {
	for b.Loop() {
		var pcs [16]uintptr
		runtime.Callers(1, pcs[:])
	}
}
