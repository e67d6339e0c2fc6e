package warehouse

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// offers makes requests wait for the answer of the queue, which the test gives.
type offers struct {
	exporter.Traces
	refuse chan error
}

func (o *offers) ConsumeTraces(context.Context, ptrace.Traces) error { return <-o.refuse }

// A repeat of a request is not accepted while the first copy waits for the answer of the queue, because
// the queue can refuse it.
func TestOnFullReject_WaitsForOutcome(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := smallQueue(t)
		cfg.OnFull = Reject
		r := newRig(t, cfg).start()
		queue := r.inner
		asked := &offers{Traces: queue, refuse: make(chan error)}
		r.inner = asked
		x := export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 5}, measured: 2} // sent twice at the same time
		td := x.traces()
		first := make(chan error)
		go func() { first <- r.ConsumeTraces(context.Background(), x.traces()) }()
		synctest.Wait()
		assert.Error(t, r.ConsumeTraces(context.Background(), td), "the client would forget it")
		asked.refuse <- exporterhelper.ErrQueueIsFull
		require.ErrorIs(t, <-first, exporterhelper.ErrQueueIsFull)
		assert.EqualValues(t, 2, r.metric("offers_refused"))

		r.inner = queue
		r.send(x) // the client retries
		require.NoError(t, r.ConsumeTraces(context.Background(), td), "it is in the queue")
		r.stop()
		balanced(t, totalsOf(r.in...), storedTotals(t, cfg.Path))
	})
}
