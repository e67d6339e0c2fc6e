package warehouse

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// The directory is maintained while rows are written to it, and every row is stored exactly once.
func TestMaintenance_RunsWhileWriting(t *testing.T) {
	cfg := testConfig(t)
	cfg.Queue.Batch.Get().MinSize = 1
	cfg.Maintenance.Interval = 5 * time.Millisecond
	cfg.Maintenance.MaxFiles = 2
	r := newRig(t, cfg).start()
	for i := 0; r.metric("maintenance_steps", "action", "merge") < 3; i++ {
		require.Less(t, i, 5000, "nothing was merged: %v", r.logs.All())
		r.send(export{instance: "a", seq: int64(i + 1), calls: map[string]int64{"a.B": 5}, measured: 3, process: true})
		time.Sleep(time.Millisecond)
	}
	r.stop()
	balanced(t, totalsOf(r.in...), storedTotals(t, cfg.Path))
	assert.Zero(t, r.metric("maintenance_failures"))
	assert.Positive(t, r.metric("maintenance_rows", "action", "merge"))
	assert.Positive(t, r.metric("size"))
	s, err := table.Open(cfg.Path)
	require.NoError(t, err)
	assert.Less(t, len(s.Files), len(r.in))
}

// A failed maintenance run is logged and counted, and does not prevent the next runs.
func TestMaintenance_ReportsFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := testConfig(t)
		cfg.Maintenance.Interval = time.Minute
		r := newRig(t, cfg).start()
		r.send(export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 5}})
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		assert.Zero(t, r.metric("maintenance_failures"))
		m, err := table.NewMaintainer(cfg.Path, table.Options{})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Zero(t, r.metric("maintenance_failures"), "another maintenance is no failure")
		require.NoError(t, m.Close())
		current := filepath.Join(cfg.Path, "CURRENT")
		before, err := os.ReadFile(current)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(current, []byte("no number\n"), 0o644))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.EqualValues(t, 1, r.metric("maintenance_failures"))
		require.NoError(t, os.WriteFile(current, before, 0o644))
		r.stop()
	})
}

// Rows of environments beyond the maximum number that are rolled up at once are reported as kept.
func TestMaintenance_ReportsRetention(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := testConfig(t)
		cfg.Maintenance.Interval = time.Hour
		it := methodspan.Item{ID: "old-1"}
		start := time.Now().Add(-10 * 24 * time.Hour).UnixNano()
		for i := range 1003 {
			it.Rows = append(it.Rows, methodspan.Row{
				Resource: &methodspan.Resource{Service: "shop", Environment: fmt.Sprint("pr-", i)}, Kind: methodspan.KindCounts, Level: methodspan.LevelRaw,
				StartNS: start, EndNS: start, Method: "m", Calls: 1, RowSeq: int32(i),
			})
		}
		w, err := table.NewWriter(cfg.Path, cfg.parquetOptions())
		require.NoError(t, err)
		_, err = w.Write(t.Context(), []methodspan.Item{it})
		require.NoError(t, err)
		require.NoError(t, w.Close())
		r := newRig(t, cfg).start()
		time.Sleep(2*time.Hour + time.Second)
		synctest.Wait()
		assert.EqualValues(t, 1, r.metric("maintenance_steps", "action", "roll_minute"))
		assert.EqualValues(t, 3, r.metric("maintenance_rows", "action", "keep"))
		r.stop()
	})
}

func TestMaintenance_KeepsIDsAsConfigured(t *testing.T) {
	const traces = 4000
	spans := func() ptrace.Traces {
		td := export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 1}, measured: traces}.traces()
		list := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
		for i := range list.Len() {
			if list.At(i).Name() == "a.B" && i > 0 {
				list.At(i).SetTraceID([16]byte{1, 2, byte(i), byte(i >> 8)})
				list.At(i).SetSpanID([8]byte{1, byte(i), byte(i >> 8)})
			}
			if i%100 == 7 {
				list.At(i).Status().SetCode(ptrace.StatusCodeError)
			}
		}
		return td
	}
	for ids, want := range map[string][2]int{IDsAll: {traces, traces}, IDsNone: {0, 0}, IDsExemplar: {traces / 100 * 2, traces / 100 * 5}} {
		cfg := testConfig(t)
		cfg.IDs = ids
		r := newRig(t, cfg).start()
		require.NoError(t, r.ConsumeTraces(context.Background(), spans()))
		r.stop()
		kept, failed := 0, 0
		for _, row := range storedRows(t, cfg.Path) {
			if row.TraceID != [16]byte{} {
				kept++
				assert.NotZero(t, row.SpanID)
			} else if row.Errors > 0 && row.Kind == methodspan.KindCall {
				failed++
			}
		}
		assert.GreaterOrEqual(t, kept, want[0], ids)
		assert.LessOrEqual(t, kept, want[1], ids)
		if ids == IDsExemplar {
			assert.Zero(t, failed, "calls that failed are exemplars")
		}
	}
}

func TestDiskLimit_StopsWriting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := testConfig(t)
		cfg.Disk.MaxBytes = 1
		r := newRig(t, cfg).start()
		r.send(export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 5}})
		time.Sleep(time.Minute)
		r.send(export{instance: "a", seq: 2, calls: map[string]int64{"a.B": 7}})
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Positive(t, r.metric("write_failures"))
		require.Len(t, storedRows(t, cfg.Path), 1)
		r.stop()
		assert.EqualValues(t, 7, r.metric("fold_lost", "what", "calls"), "what there never was room for is a named loss")
	})
}
