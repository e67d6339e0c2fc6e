package warehouse

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/partialsuccess"
	"github.com/corehour/corehour/internal/warehouse"
)

func TestExporter_Lifecycle(t *testing.T) {
	ctx := context.Background()
	cfg := testConfig(t)
	unstarted, err := NewFactory().CreateTraces(ctx, exportertest.NewNopSettings(typ), cfg)
	require.NoError(t, err)
	require.NoDirExists(t, cfg.Path, "creating the component must not touch the disk")
	require.NoError(t, unstarted.Shutdown(ctx))
	require.NoError(t, unstarted.Shutdown(ctx))

	e, err := NewFactory().CreateTraces(ctx, exportertest.NewNopSettings(typ), cfg)
	require.NoError(t, err)
	require.Error(t, e.ConsumeTraces(ctx, export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 1}}.traces()), "before Start")
	require.NoError(t, e.Start(ctx, componenttest.NewNopHost()))
	td := export{instance: "a", seq: 1, calls: map[string]int64{"shop/cart.(*Cart).Total": 1234}, measured: 7, process: true}.traces()
	want := totalsOf(td)
	require.NoError(t, e.ConsumeTraces(ctx, td))
	require.NoError(t, e.ConsumeTraces(ctx, ptrace.NewTraces()))
	require.NoError(t, e.Shutdown(ctx))
	require.NoError(t, e.Shutdown(ctx))
	require.Error(t, e.ConsumeTraces(ctx, td), "after Shutdown")
	balanced(t, want, storedTotals(t, cfg.Path))
	assert.False(t, e.Capabilities().MutatesData)
}

// Rows are visible one flush timeout after they arrive, even without further requests.
func TestExporter_RowsVisibleAfterFlushTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, testConfig(t)).start()
		r.send(export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 5}, measured: 3})
		synctest.Wait()
		assert.Empty(t, storedRows(t, r.cfg.Path))
		assert.Zero(t, r.metric("rows_written"))
		time.Sleep(2 * time.Second)
		assert.InDelta(t, 2, r.metric("oldest_unflushed_age"), 0.01)
		time.Sleep(r.cfg.Queue.Batch.Get().FlushTimeout - 2*time.Second + time.Millisecond)
		synctest.Wait()
		balanced(t, totalsOf(r.in...), storedTotals(t, r.cfg.Path))
		assert.EqualValues(t, 4, r.metric("rows_written"))
		assert.Positive(t, r.metric("bytes_written"))
		assert.Zero(t, r.metric("oldest_unflushed_age"))
		r.stop()
	})
}

func TestExporter_SkipsOtherSpans(t *testing.T) {
	r := newRig(t, testConfig(t)).start()
	td := export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 5}}.traces()
	want := totalsOf(td)
	foreign := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty()
	foreign.SetName("GET /")
	bad := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty()
	bad.SetName("a.B")
	bad.Attributes().PutStr("corehour.kind", "nonsense")
	require.NoError(t, r.ConsumeTraces(context.Background(), td))
	r.stop()
	balanced(t, want, storedTotals(t, r.cfg.Path))
	assert.EqualValues(t, 1, r.metric("spans_skipped", "reason", "not_method"))
	assert.EqualValues(t, 1, r.metric("spans_skipped", "reason", "invalid"))
}

func TestExporter_StoresItemsOnce(t *testing.T) {
	cfg := testConfig(t)
	x := export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 5}, measured: 2}
	r := newRig(t, cfg).start()
	r.send(x)
	require.NoError(t, r.ConsumeTraces(context.Background(), x.traces())) // while the first copy is queued
	r.stop()
	assert.EqualValues(t, 3, r.metric("duplicate_rows"))
	again := newRig(t, cfg).start() // and after a restart
	require.NoError(t, again.ConsumeTraces(context.Background(), x.traces()))
	again.stop()
	assert.EqualValues(t, 3, again.metric("duplicate_rows"))
	balanced(t, totalsOf(r.in...), storedTotals(t, cfg.Path))
}

func TestExporter_CountsRowsOutsideWindow(t *testing.T) {
	r := newRig(t, testConfig(t)).start()
	td := export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 5, "a.C": 6, "a.D": 7}}.traces()
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	now := time.Now()
	for i, start := range []time.Time{now, now.Add(-31 * 24 * time.Hour), now.Add(25 * time.Hour)} {
		spans.At(i).SetStartTimestamp(pcommon.NewTimestampFromTime(start))
		spans.At(i).SetEndTimestamp(pcommon.NewTimestampFromTime(start))
	}
	require.NoError(t, r.ConsumeTraces(context.Background(), td))
	r.stop()
	assert.Len(t, storedRows(t, r.cfg.Path), 1)
	assert.EqualValues(t, 1, r.metric("rows_refused", "reason", string(warehouse.TooLate)))
	assert.EqualValues(t, 1, r.metric("rows_refused", "reason", string(warehouse.InFuture)))
	assert.Equal(t, 1, r.logs.FilterMessageSnippet(msgRefused).Len())
}

func TestStart_ReportsDirectoryFault(t *testing.T) {
	cfg := testConfig(t)
	first := newRig(t, cfg).start()
	second := newRig(t, cfg)
	err := second.Start(context.Background(), componenttest.NewNopHost())
	require.ErrorIs(t, err, warehouse.ErrLocked)
	assert.ErrorContains(t, err, cfg.Path)
	assert.ErrorContains(t, err, "a `path` of its own")
	second.stop()
	first.stop()

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	cfg = testConfig(t)
	cfg.Path = filepath.Join(file, "warehouse")
	third := newRig(t, cfg)
	err = third.Start(context.Background(), componenttest.NewNopHost())
	assert.ErrorContains(t, err, cfg.Path)
	third.stop()
}

// The sender learns which rows the store refuses for their start.
func TestConsumeTraces_ReportsMisdatedRows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, smallQueue(t)).start()
		defer r.stop()
		seq := int64(0)
		for age, want := range map[time.Duration]string{
			31 * 24 * time.Hour: "too_late: the warehouse refuses 3 rows: the earliest started at ",
			-25 * time.Hour:     "in_future: the warehouse refuses 3 rows: the latest starts at ",
			time.Hour:           "",
		} {
			seq++
			td := export{instance: "a", seq: seq, calls: map[string]int64{"a.B": 5}, measured: 2}.traces()
			for _, span := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
				span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-age)))
				span.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(time.Millisecond - age)))
			}
			ctx, refusals := partialsuccess.NewContext(t.Context())
			require.NoError(t, r.ConsumeTraces(ctx, td))
			response, refused := refusals.Response()
			assert.Equal(t, want != "", refused)
			assert.Contains(t, response.PartialSuccess().ErrorMessage(), want)
			if refused {
				assert.EqualValues(t, 3, response.PartialSuccess().RejectedSpans())
			}
		}
	})
}
