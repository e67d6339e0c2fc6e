package warehouse

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fake"
)

// A repeat of rows stored long before does not count towards the rows of an attempt of unknown outcome.
func TestRepeats_DuringUnknownOutcome(t *testing.T) {
	rowsOf := func(x export) float64 {
		items, _ := methodspan.NewConverter().Items(x.traces())
		return float64(len(items[0].Rows))
	}
	for name, test := range map[string]struct {
		last   int  // last attempt that fails
		stored bool // the first failed attempt stored the rows
	}{
		"not stored": {2, false}, "stored": {2, true}, "given up": {1 << 30, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg := smallQueue(t)
				cfg.Retry.MaxElapsedTime = 10 * time.Second
				cfg.Retry.MaxInterval = 5 * time.Second
				r := newRig(t, cfg)
				r.store.before = func(n int, _ []methodspan.Item) error {
					if n > 1 && n <= test.last && (n > 2 || !test.stored) {
						return errUnsure
					}
					return nil
				}
				r.store.after = func(n int) error {
					if n > 1 && n <= test.last {
						return errUnsure
					}
					return nil
				}
				r.start()
				old, fresh := busyExport(0), busyExport(1)
				r.send(old)
				time.Sleep(time.Minute)
				synctest.Wait()
				require.InDelta(t, rowsOf(old), r.metric("rows_written"), 0)
				require.NoError(t, r.ConsumeTraces(t.Context(), old.traces())) // the client did not get the answer
				r.send(fresh)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				r.stop()
				balanced(t, totalsOf(r.in...), storedTotals(t, cfg.Path))
				assert.InDelta(t, rowsOf(old), r.metric("duplicate_rows"), 0)
				written, unknown := rowsOf(old)+rowsOf(fresh), 0.0
				if name == "given up" {
					written, unknown = rowsOf(old), rowsOf(fresh)
				}
				assert.InDelta(t, written, r.metric("rows_written"), 0)
				assert.InDelta(t, unknown, r.metric("write_unknown"), 0)
			})
		})
	}
}

// A request of unknown outcome is given up. Its client, which got no answer, sends it again while the
// queue is full, and then the service recovers. The request is stored once, and so are the aggregates of
// the other requests.
func TestRepeats_AbandonedRequests(t *testing.T) {
	s := fake.New(t)
	var down atomic.Bool
	s.OnAppend = func(int) fake.Fault {
		if down.Load() {
			return fake.AckLost
		}
		return fake.None
	}
	s.OnFinalize = func() error {
		if down.Load() {
			return status.Error(codes.Unavailable, "the connection is closed")
		}
		return nil
	}
	cfg := bigQueryConfig(t, s)
	cfg.Retry.MaxElapsedTime = 20 * time.Millisecond
	cfg.Queue.QueueSize, cfg.Queue.Batch.Get().MinSize = 64, 16
	r := newRig(t, cfg)
	var stuck atomic.Bool
	works := make(chan struct{})
	r.store.before = func(int, []methodspan.Item) error {
		if stuck.Load() {
			<-works
		}
		return nil
	}
	r.start()
	down.Store(true)
	first := busyExport(0)
	r.send(first)
	require.Eventually(t, func() bool { return r.metric("write_unknown") > 0 }, patience, time.Millisecond)
	stuck.Store(true)
	for i := 1; r.metric("offers_refused") < 5; i++ { // refused requests are aggregated
		r.send(busyExport(i))
	}
	require.NoError(t, r.ConsumeTraces(t.Context(), first.traces()))
	require.EqualValues(t, 6, r.metric("offers_refused"))
	down.Store(false)
	close(works)
	r.stop()
	stored := rowTotals{}
	stored.addRows(fake.MethodRows(s.Rows(testDataset)))
	balanced(t, totalsOf(r.in...), stored)
	rows := float64(first.traces().SpanCount())
	assert.InDelta(t, rows, r.metric("write_unknown"), 0)
	assert.InDelta(t, rows, r.metric("duplicate_rows"), 0)
	assert.Zero(t, r.metric("fold_lost"))
	assert.Zero(t, r.metric("rows_refused"))
	assert.Empty(t, r.items.items, "a write has settled them")
}

// The requests that an earlier run left in a persistent queue are sent again, because their client got
// no answer, while the store is unreachable. Each is stored once, whichever of its copies is aggregated
// and whichever is still in the queue.
func TestRepeats_StoredRequests(t *testing.T) {
	for name, again := range map[string]struct {
		room   int64 // size of the queue
		others int
	}{
		"the queue takes it":        {10_000, 0},
		"the queue refuses it":      {64, 0},
		"others are aggregated too": {64, 34},
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
			in := totalsOf(append(first.in, second.in...)...)
			assert.Eventually(t, func() bool { return len(differences(in, storedTotals(t, cfg.Path))) == 0 }, patience, 10*time.Millisecond)
			stop()
			balanced(t, in, storedTotals(t, cfg.Path))
			assert.Zero(t, second.metric("rows_refused"))
			assert.Zero(t, second.metric("fold_lost"))
		})
	}
}
