package warehouse

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"
)

// A sender invents more processes than ids are remembered. Batches stored before are still recognised, after
// a restart too, and other senders find room.
func TestNewProcess_FloodForgetsNoStoredBatch(t *testing.T) {
	from := func(address string) context.Context {
		return client.NewContext(context.Background(), client.Info{Addr: &net.TCPAddr{IP: net.ParseIP(address), Port: 4317}})
	}
	cfg := testConfig(t)
	cfg.Parquet.RememberMax = minRememberMax
	batchOf := func(instance string, seq int64) ptrace.Traces {
		return export{instance: instance, seq: seq, calls: map[string]int64{"a.b": 3}}.traces()
	}
	victim := batchOf("victim", 1)
	want := []ptrace.Traces{victim}
	first := newRig(t, cfg).start()
	require.NoError(t, first.ConsumeTraces(from("10.0.0.1"), victim))
	first.stop()

	for round := range 2 { // the second time after a restart, which forgets who sent what
		r := newRig(t, cfg).start()
		for i := range 20 {
			flood := ptrace.NewTraces()
			for n := range 100 {
				batchOf(fmt.Sprint("invented ", round, " ", i, " ", n), 1).ResourceSpans().MoveAndAppendTo(flood.ResourceSpans())
			}
			_ = r.ConsumeTraces(from("10.0.0.1"), flood)
		}
		require.Error(t, r.ConsumeTraces(from("10.0.0.1"), batchOf("refused", 1)), "the client sends it again")
		assert.NotZero(t, r.metric("rows_refused", "reason", "new_process"))
		assert.Greater(t, r.metric("offers_refused", "reason", "new_process"), 9.0)
		assert.NotZero(t, r.logs.FilterMessageSnippet("New process refused").FilterField(zap.String("sender", "10.0.0.1")).Len())
		require.NoError(t, r.ConsumeTraces(from("10.0.0.1"), victim))
		next := batchOf("victim", int64(len(want)+1))
		other := batchOf("other", int64(len(want)+1))
		require.NoError(t, r.ConsumeTraces(from("10.0.0.1"), next), "a known process")
		require.NoError(t, r.ConsumeTraces(from("10.0.0.2"), other), "another sender")
		want = append(want, next, other)
		r.stop()
		assert.Zero(t, r.metric("forgotten_items"))
	}
	got := storedTotals(t, cfg.Path)
	for key := range got {
		if len(key) > 8 && key[:8] == "invented" {
			delete(got, key)
		}
	}
	balanced(t, totalsOf(want...), got)
}
