package methodspans

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// itemsOf returns the items that the warehouse would make of the received requests.
func itemsOf(td ptrace.Traces) (ids []string) {
	items, _ := methodspan.NewConverter().Items(td)
	for _, item := range items {
		ids = append(ids, item.ID)
	}
	return ids
}

// Another sender has already used the numbers of a process. The batches of the process pass, have
// ids of their own, and their repeats are recognised.
func TestBatchConflict_ForgedNumbers(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	forged, stored := map[string]bool{}, map[string]bool{}
	for seq := range int64(20) {
		for _, id := range itemsOf(r.receive(batch("a", seq+1, func(spans ptrace.SpanSlice) { addProcess(spans).SetSpanID(pcommon.SpanID{6, 6}) }))) {
			forged[id] = true
		}
	}
	require.Len(t, forged, 20)
	real := func(seq int64) ptrace.Traces {
		return batch("a", seq, func(spans ptrace.SpanSlice) { addCounts(spans, "a.b", 15).SetSpanID(pcommon.SpanID{7, 7: byte(seq)}) })
	}
	calls := int64(0)
	for seq := range int64(20) {
		got := r.receive(real(seq + 1))
		calls += callsOf(got)["a.b"]
		for _, id := range itemsOf(got) {
			require.NotContains(t, forged, id)
			stored[id] = true
		}
	}
	require.EqualValues(t, 300, calls)
	require.Len(t, stored, 20)
	require.Equal(t, int64(20), r.counted("faults")["passed batch_conflict"])
	for seq := range int64(20) {
		for _, id := range itemsOf(r.receive(real(seq + 1))) {
			require.Contains(t, stored, id)
		}
	}
}

// Both batches are in one request.
func TestBatchConflict_WithinRequest(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	td := batch("a", 1, func(spans ptrace.SpanSlice) { addCounts(spans, "a.b", 1) })
	addBatch(td, "a", 1, func(spans ptrace.SpanSlice) { addCounts(spans, "a.b", 2).SetSpanID(pcommon.SpanID{7}) })
	addBatch(td, "a", 1, func(spans ptrace.SpanSlice) { addCounts(spans, "a.b", 1) })
	got := r.receive(td)
	require.EqualValues(t, 3, callsOf(got)["a.b"])
	ids := itemsOf(got)
	require.Len(t, ids, 2)
	require.NotEqual(t, ids[0], ids[1])
	require.Equal(t, map[string]int64{"": 1}, r.counted("duplicates"))
}

// A gateway receives the spans that an agent's sampler has kept, which can be fewer the next time.
func TestBatchDigest_KeptFromFirstReceiver(t *testing.T) {
	agent, gateway := start(t, testConfig(nil), nil), start(t, testConfig(nil), nil)
	send := func(keep int) {
		td := agent.receive(batch("a", 1, func(spans ptrace.SpanSlice) {
			for range 4 {
				addCall(spans)
			}
		}))
		n := 0
		td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(ptrace.Span) bool { n++; return n > keep })
		require.NoError(t, gateway.export(td))
	}
	send(4)
	agent = start(t, testConfig(nil), nil) // it was restarted, and has not answered
	send(2)
	require.Equal(t, map[string]int64{"": 1}, gateway.counted("duplicates"))
	require.Len(t, gateway.sink.AllTraces(), 1)
}

// Random ids distinguish two processes with one instance and start, at every receiver alike.
func TestProcessID_DistinguishesProcesses(t *testing.T) {
	first, second := start(t, testConfig(nil), nil), start(t, testConfig(nil), nil)
	of := func(r *rig, td ptrace.Traces) ptrace.Traces { return r.receive(td) }
	process := func(id string) ptrace.Traces {
		td := batch("a", 1, func(spans ptrace.SpanSlice) { addCounts(spans, "a.b", 1) })
		td.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutStr(methodspan.AttrProcessID, id)
		return td
	}
	starts := map[int64]bool{}
	for i := range 20 {
		got := of(first, process(fmt.Sprintf("%032x", i*7919)))
		require.Len(t, itemsOf(got), 1, "no repeat of another process")
		key := methodspan.ReadResource(got.ResourceSpans().At(0).Resource()).Key()
		starts[key.ProcessStartNS] = true
		again := of(second, got)
		require.Equal(t, itemsOf(got), itemsOf(again), "the same behind another receiver")
	}
	require.Len(t, starts, 20)
	want := time.Date(2026, 9, 21, 14, 0, 0, 250e6, time.UTC).UnixNano()
	for start := range starts {
		assert.InDelta(t, want, start, 1e6)
	}
	require.Empty(t, first.counted("duplicates"))
	require.Empty(t, first.faults())
}

// A flood of processes evicts only numbers of its own sender; repeats of others are recognised.
func TestBatches_FloodEvictsOwnProcesses(t *testing.T) {
	b := newBatches(100, 8)
	accept := func(sender, instance string) (repeats int64) {
		var t requestCounts
		c, err := b.claim(context.Background(), batch(instance, 1, func(spans ptrace.SpanSlice) { addProcess(spans) }), sender, &t)
		if err != nil {
			panic(err)
		}
		b.release(c, true)
		return t.duplicates
	}
	for i := range 10 {
		require.Zero(t, accept(fmt.Sprint("host", i), fmt.Sprint("real", i)))
	}
	for i := range 5000 {
		accept("flood", fmt.Sprint("forged", i))
	}
	for i := range 10 {
		require.EqualValues(t, 1, accept(fmt.Sprint("host", i), fmt.Sprint("real", i)))
	}
}
