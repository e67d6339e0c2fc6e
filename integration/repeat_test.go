package integration

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// TestRepeats_LostAnswersChangeNothing proves that counts stay exact and no row is stored twice
// when answers are lost and requests are refused, dropped and repeated, within one run of the
// collector and across a restart.
func TestRepeats_LostAnswersChangeNothing(t *testing.T) {
	t.Parallel()
	p := startPipeline(t, quickWarehouse)
	faults := []harness.Fault{
		harness.Forward(),
		harness.DropAnswer(),
		harness.Repeat(),
		harness.Refuse(http.StatusServiceUnavailable, time.Second),
		harness.DropAnswer(),
		harness.Forward(),
		harness.Refuse(http.StatusTooManyRequests, 0),
		harness.Repeat(),
		harness.BlackHole(10 * time.Second),
		harness.Forward(),
	}
	var calm atomic.Bool
	proxy := p.newProxy(t, func(n int) harness.Fault {
		if calm.Load() {
			return harness.Forward()
		}
		return faults[(n-1)%len(faults)]
	})
	l := startLoad(t, proxy.Endpoint(), "w", "--pause", "1ms", "--flush", "100ms", "--timeout", "500ms")
	await(t, "every fault to have happened twice", func(context.Context) (bool, error) {
		tally := proxy.Tally()
		return tally.Dropped >= 4 && tally.Refused >= 4 && tally.Swallowed >= 2 && tally.Repeated >= 4, nil
	})
	calm.Store(true)
	r := l.end(t)

	if err := proxy.RepeatAll(t.Context()); err != nil {
		t.Error(err)
	}
	if duplicates := p.metrics(t).Sum("otelcol_receiver_method_spans_duplicates"); duplicates < 4 {
		t.Errorf("the receiver recognised %v repeats: every lost answer makes one", duplicates)
	}
	p.stop(t)

	// The new process does not know these batches; the warehouse does.
	p.start(t)
	before := p.metrics(t).Sum("otelcol_exporter_warehouse_duplicate_rows")
	if err := proxy.RepeatAll(t.Context()); err != nil {
		t.Error(err)
	}
	p.awaitMetric(t, before+1, "otelcol_exporter_warehouse_duplicate_rows")
	p.stop(t)
	t.Logf("what the proxy did: %+v", proxy.Tally())
	requireExact(t, p, r)
	requireEveryCallMeasured(t, p, r)
}
