package threads

import (
	"runtime/debug"
	"sync"
	"testing"
)

// Reading the limit leaves it as it was, or as the program sets it meanwhile.
func TestLeast_LeavesLimitUnchanged(t *testing.T) {
	const own = 4321
	defer debug.SetMaxThreads(debug.SetMaxThreads(own))
	for range 3 {
		if got := ofGo(); got != own {
			t.Fatalf("the limit is %d", got)
		}
	}
	for round := range 2000 {
		want := 5000 + round
		var running sync.WaitGroup
		for range 2 {
			running.Go(func() { ofGo() })
		}
		debug.SetMaxThreads(want)
		running.Wait()
		if got := ofGo(); got != want {
			t.Fatalf("%d was set, the limit is %d", want, got)
		}
	}
}
