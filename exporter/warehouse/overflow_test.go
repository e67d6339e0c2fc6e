package warehouse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// smallQueue returns a configuration whose queue holds 64 rows and writes batches of at least 16.
func smallQueue(t *testing.T) *Config {
	cfg := testConfig(t)
	cfg.Queue.QueueSize = 64
	cfg.Queue.Batch.Get().MinSize = 16
	return cfg
}

// busyExport returns the i-th request of several busy processes.
func busyExport(i int) export {
	return export{
		instance: fmt.Sprintf("pod-%d", i%3), seq: int64(1 + i/3),
		calls:    map[string]int64{"shop/cart.(*Cart).Total": int64(100 + i), "shop/cart.(*Cart).Add": int64(10 + i)},
		measured: 3, process: i%5 == 0,
	}
}

// While the store blocks and the queue is full, all requests are accepted. Afterwards the stored counts
// are exact, and measurements are stored as sums of the same weighted total.
func TestOverflow_KeepsTotals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, smallQueue(t))
		stuck := make(chan struct{})
		r.store.before = func(int, []methodspan.Item) error { <-stuck; return nil }
		r.start()
		for i := range 200 {
			r.send(busyExport(i))
			if i == 32 {
				synctest.Wait() // the first batches wait for the store and cannot take what is refused later
			}
		}
		refused := r.metric("offers_refused", "reason", "full")
		assert.Greater(t, refused, 150.0)
		assert.Positive(t, r.metric("fold_cells"))
		assert.Positive(t, r.metric("calls_folded", "cause", "refused"))
		assert.Positive(t, r.metric("measurements_folded", "cause", "refused"))
		close(stuck)
		synctest.Wait()
		time.Sleep(2 * r.cfg.Queue.Batch.Get().FlushTimeout)
		synctest.Wait()
		// This needs neither a shutdown nor another request.
		balanced(t, totalsOf(r.in...), storedTotals(t, r.cfg.Path))
		assert.Zero(t, r.metric("fold_cells"))
		r.stop()
		assert.Zero(t, r.metric("fold_lost"))
		assert.Zero(t, r.metric("write_unknown"))
		assert.Zero(t, r.metric("rows_refused"))
		assert.EqualValues(t, len(storedRows(t, r.cfg.Path)), r.metric("rows_written"))

		lines := r.logs.FilterMessageSnippet("Exporting failed").Len()
		assert.LessOrEqual(t, lines, 2, "of %v refusals", refused)
		assert.Positive(t, lines)
	})
}

// A repeat of an aggregated item is a duplicate, both before and after the aggregate is stored.
func TestOverflow_RecognizesAggregatedItems(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := smallQueue(t)
		r := newRig(t, cfg)
		stuck := make(chan struct{})
		r.store.before = func(int, []methodspan.Item) error { <-stuck; return nil }
		r.start()
		for i := range 50 {
			r.send(busyExport(i))
		}
		for i := range 50 {
			require.NoError(t, r.ConsumeTraces(context.Background(), busyExport(i).traces()))
		}
		close(stuck)
		r.stop()
		rows := 0
		for _, td := range r.in {
			rows += td.SpanCount()
		}
		assert.EqualValues(t, rows, r.metric("duplicate_rows"))
		balanced(t, totalsOf(r.in...), storedTotals(t, cfg.Path))

		again := newRig(t, cfg).start()
		for i := range 50 {
			require.NoError(t, again.ConsumeTraces(context.Background(), busyExport(i).traces()))
		}
		again.stop()
		balanced(t, totalsOf(r.in...), storedTotals(t, cfg.Path))
	})
}

func TestQueue_SplitsLargeRequests(t *testing.T) {
	cfg := testConfig(t)
	cfg.Queue.QueueSize = 1000
	cfg.Queue.Batch.Get().MinSize = 100
	r := newRig(t, cfg).start()
	big := export{instance: "a", seq: 1, calls: map[string]int64{}, measured: 9}
	for i := range 90 {
		big.calls[fmt.Sprintf("a.B%02d", i)] = int64(i + 1)
	}
	r.send(big) // 900 rows
	big.seq = 2
	r.send(big)
	require.NoError(t, r.ConsumeTraces(context.Background(), big.traces()))
	r.stop()
	balanced(t, totalsOf(r.in...), storedTotals(t, cfg.Path))
	again := newRig(t, cfg).start()
	require.NoError(t, again.ConsumeTraces(context.Background(), big.traces()))
	again.stop()
	balanced(t, totalsOf(r.in...), storedTotals(t, cfg.Path))
}

func TestOnFullReject_ReturnsErrorToClient(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := smallQueue(t)
		cfg.OnFull = Reject
		r := newRig(t, cfg)
		stuck := make(chan struct{})
		r.store.before = func(int, []methodspan.Item) error { <-stuck; return nil }
		r.start()
		rejected := map[int]bool{}
		for i := range 50 {
			td := busyExport(i).traces()
			switch err := r.ConsumeTraces(context.Background(), td); {
			case errors.Is(err, exporterhelper.ErrQueueIsFull):
				rejected[i] = true
			case err != nil:
				t.Fatal(err)
			default:
				r.in = append(r.in, td)
			}
		}
		assert.NotEmpty(t, rejected)
		assert.EqualValues(t, len(rejected), r.metric("offers_refused", "reason", "full"))
		close(stuck)
		synctest.Wait()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for i := range rejected { // the client retries
			r.send(busyExport(i))
			synctest.Wait()
		}
		r.stop()
		balanced(t, totalsOf(r.in...), storedTotals(t, cfg.Path))
	})
}

func TestWrite_RetriesFailures(t *testing.T) {
	for name, failure := range map[string]error{"failed": errBroken, "unknown": errUnsure} {
		for _, stored := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stored=%v", name, stored), func(t *testing.T) {
				if stored && errors.Is(failure, warehouse.ErrFull) {
					return // a write with a known failure stores nothing
				}
				bubble(t, func(t *testing.T) {
					r := newRig(t, smallQueue(t))
					var batches []string
					r.store.before = func(n int, items []methodspan.Item) error {
						batches = append(batches, strings.Join(idsOf(items), " "))
						if n <= 3 && !stored {
							return failure
						}
						return nil
					}
					r.store.after = func(n int) error {
						if n <= 3 && stored {
							return failure
						}
						return nil
					}
					host := &statusHost{}
					require.NoError(t, r.Start(context.Background(), host))
					for i := range 4 {
						r.send(busyExport(i))
					}
					time.Sleep(time.Minute)
					synctest.Wait()
					balanced(t, totalsOf(r.in...), storedTotals(t, r.cfg.Path))
					require.Len(t, batches, 5-r.small(t))
					assert.Equal(t, batches[0], batches[1])
					assert.Equal(t, batches[0], batches[3])
					assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, host.reported())
					assert.EqualValues(t, 3, r.metric("write_failures"))
					assert.EqualValues(t, len(storedRows(t, r.cfg.Path)), r.metric("rows_written"))
					assert.Zero(t, r.metric("duplicate_rows"))
					assert.Zero(t, r.metric("calls_folded"))
					r.stop()
				})
			})
		}
	}
}

// small returns 1 if all requests so far go into one batch, and otherwise 0.
func (r *rig) small(t *testing.T) int {
	rows := 0
	for _, td := range r.in {
		rows += td.SpanCount()
	}
	if int64(rows) < 2*r.cfg.Queue.Batch.Get().MinSize {
		return 1
	}
	return 0
}

func TestWrite_FailedRowsOverflow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := smallQueue(t)
		r := newRig(t, cfg)
		var works atomic.Bool
		r.store.before = func(int, []methodspan.Item) error {
			if !works.Load() {
				return errBroken
			}
			return nil
		}
		r.start()
		for i := range 30 {
			r.send(busyExport(i))
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		assert.Empty(t, storedRows(t, cfg.Path))
		assert.Positive(t, r.metric("calls_folded", "cause", "write_failed"))
		works.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		balanced(t, totalsOf(r.in...), storedTotals(t, cfg.Path))
		r.stop()
		assert.Zero(t, r.metric("fold_lost"))
	})
}

func TestWrite_UnknownOutcomeNeverOverflows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := smallQueue(t)
		cfg.Retry.MaxElapsedTime = 10 * time.Second
		cfg.Retry.MaxInterval = 5 * time.Second
		r := newRig(t, cfg)
		r.store.after = func(int) error { return errUnsure } // the first attempt stores the rows
		r.store.before = func(n int, _ []methodspan.Item) error {
			if n > 1 {
				return errUnsure
			}
			return nil
		}
		r.start()
		for i := range 2 { // one batch
			r.send(busyExport(i))
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		r.stop()
		assert.Positive(t, r.metric("write_unknown"))
		assert.Zero(t, r.metric("calls_folded"))
		balanced(t, totalsOf(r.in...), storedTotals(t, cfg.Path))
	})
}

// A shutdown takes no longer than its deadline, however slow the store is. Rows not written by then are
// aggregated and written last.
func TestShutdown_Bounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := testConfig(t)
		cfg.Queue.QueueSize = 10_000
		cfg.Queue.Batch.Get().MinSize = 16
		cfg.ShutdownTimeout = 5 * time.Second
		r := newRig(t, cfg)
		r.store.before = func(int, []methodspan.Item) error { time.Sleep(time.Second); return nil }
		r.start()
		for i := range 300 {
			r.send(busyExport(i))
		}
		begin := time.Now()
		r.stop()
		// The write in flight at the deadline completes, then the aggregates are written.
		assert.LessOrEqual(t, time.Since(begin), cfg.ShutdownTimeout+3*time.Second)
		assert.Positive(t, r.metric("calls_folded", "cause", "shutdown"))
		assert.Zero(t, r.metric("fold_lost"))
		balanced(t, totalsOf(r.in...), storedTotals(t, cfg.Path))
	})
}

func TestShutdown_BrokenStoreReportsLoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := smallQueue(t)
		r := newRig(t, cfg)
		r.store.before = func(int, []methodspan.Item) error { return errBroken }
		r.start()
		for i := range 30 {
			r.send(busyExport(i))
		}
		begin := time.Now()
		r.stop()
		assert.LessOrEqual(t, time.Since(begin), cfg.ShutdownTimeout)
		var calls, measured, process float64
		for _, td := range r.in {
			items, _ := methodspan.NewConverter().Items(td)
			for _, row := range items[0].Rows {
				calls += row.Calls
				measured += float64(row.Measured)
				if row.Kind == methodspan.KindProcess {
					process++
				}
			}
		}
		assert.InDelta(t, calls, r.metric("fold_lost", "what", "calls"), 1e-6)
		assert.InDelta(t, measured, r.metric("fold_lost", "what", "measurements"), 1e-6)
		assert.InDelta(t, process, r.metric("fold_lost", "what", "process_rows"), 1e-6)
		assert.Equal(t, 1, r.logs.FilterMessageSnippet("are lost").Len())
	})
}
