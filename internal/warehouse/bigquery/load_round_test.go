package bigquery_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/corehour/corehour/test/fake"
)

// A compaction copies the plans of jobs while a job starts.
func TestLoader_JobStartsDuringCompaction(t *testing.T) {
	s := fake.New(t)
	var copies atomic.Int64
	load := byHand()
	load.ByHand(func(what string) {
		if what == "started" {
			for seen := copies.Load(); copies.Load() < seen+2; {
				runtime.Gosched()
			}
		}
	})
	l := openLoader(t, options(s, t.TempDir()), load)
	spool(t, l, oneItem(1, "a", 5)...)
	var stop atomic.Bool
	var wait sync.WaitGroup
	wait.Go(func() {
		for !stop.Load() {
			if err := l.Compact(); err != nil {
				t.Error(err)
			}
			copies.Add(1)
		}
	})
	rounds(t, l, 5)
	stop.Store(true)
	wait.Wait()
}
