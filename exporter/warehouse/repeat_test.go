package warehouse

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
)

// What an earlier run has left in a stored queue is sent again by a sender that had no
// answer, while the store is away. Whichever of the copies is folded, and whichever is
// still in the queue: all is stored once.
func TestRepeatsOfStoredRequests(t *testing.T) {
	for name, again := range map[string]struct {
		room   int64 // of the queue
		others int
	}{
		"the queue takes it":    {10_000, 0},
		"the queue refuses it":  {64, 0},
		"others are folded too": {64, 34},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := storedQueue(t)
			cfg.Queue.QueueSize = again.room
			cfg.Queue.Batch.Get().MinSize = 45
			cfg.Queue.Batch.Get().FlushTimeout = 200 * time.Millisecond
			first := newRig(t, cfg)
			first.store.before = func(int, []methodspan.Item) error { return errBroken }
			stop := first.startStored()
			for i := range 6 {
				first.send(busyExport(i))
			}
			stop()
			require.Zero(t, first.metric("calls_folded"))

			cfg.ShutdownTimeout = patience
			cfg.Queue.Batch.Get().MinSize = 16
			cfg.Retry.InitialInterval, cfg.Retry.MaxElapsedTime = 10*time.Millisecond, 500*time.Millisecond
			second := newRig(t, cfg)
			var works atomic.Bool
			second.store.before = func(int, []methodspan.Item) error {
				if works.Load() {
					return nil
				}
				return errBroken
			}
			stop = second.startStored()
			require.Eventually(t, func() bool { return second.metric("oldest_unflushed_age") > 0 }, patience, time.Millisecond,
				"what the queue hands out is waiting")
			for i := range again.others {
				second.send(busyExport(6 + i))
			}
			for i := range 6 {
				require.NoError(t, second.ConsumeTraces(t.Context(), busyExport(i).traces()))
			}
			require.Eventually(t, func() bool { return second.metric("calls_folded") > 0 }, patience, time.Millisecond)
			works.Store(true)
			in := booksOf(append(first.in, second.in...)...)
			assert.Eventually(t, func() bool { return len(differences(in, storedBooks(t, cfg.Path))) == 0 }, patience, 10*time.Millisecond)
			stop()
			balanced(t, in, storedBooks(t, cfg.Path))
			assert.Zero(t, second.metric("rows_refused"))
			assert.Zero(t, second.metric("fold_lost"))
		})
	}
}
