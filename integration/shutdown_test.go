package integration

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// TestShutdown_CollectorWritesWhatItHolds proves that SIGTERM loses nothing, even if nothing has
// been written yet.
func TestShutdown_CollectorWritesWhatItHolds(t *testing.T) {
	t.Parallel()
	p := startPipeline(t, `
exporters: {warehouse: {sending_queue: {queue_size: 1000000, batch: {min_size: 1000000, flush_timeout: 10m}}}}
`)
	r := startLoad(t, p.Endpoint(), "w", "--calls", "50000").finish(t)
	if written := p.metrics(t).Sum("otelcol_exporter_warehouse_rows_written"); written != 0 {
		t.Fatalf("%v rows were written before their time: this proves nothing", written)
	}
	begin := time.Now()
	p.stop(t)
	t.Logf("stopping took %s", time.Since(begin).Round(time.Millisecond))
	requireExact(t, p, r)
	requireEveryCallMeasured(t, p, r)
	requireQuietLog(t, p)
}

// TestShutdown_UnderLoadLosesNothing proves that a collector can be restarted while processes send:
// it writes the acknowledged requests, and the others are sent again.
func TestShutdown_UnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	p := startPipeline(t, quickWarehouse)
	l := startLoad(t, p.Endpoint(), "w", "--pause", "500us", "--flush", "50ms")
	for range 3 {
		p.awaitMetric(t, 1000, "otelcol_receiver_method_spans_received", "kind", "call")
		p.stop(t)
		p.start(t)
	}
	r := l.end(t)
	p.stop(t)
	requireExact(t, p, r)
	if lost := requireNamedLosses(t, p, r); lost != 0 {
		t.Errorf("%d calls were lost in transit", lost)
	}
}

// TestSDKShutdown_WithoutACollectorMeetsItsDeadline proves that a process ends at its shutdown's
// deadline, reports the calls that it could not deliver, leaves no goroutine running and was not
// slowed: with a closed port, and with a server that never answers.
func TestSDKShutdown_WithoutACollectorMeetsItsDeadline(t *testing.T) {
	t.Parallel()
	nobody, err := harness.FreeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	hole, err := harness.NewProxy(nobody[0], func(int) harness.Fault { return harness.BlackHole(time.Minute) })
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	for name, endpoint := range map[string]string{"nobody listens": "http://" + nobody[0], "nobody answers": hole.Endpoint()} {
		t.Run(name, func(t *testing.T) {
			withRetries(t, func() faults { return endWithoutCollector(t, endpoint) })
		})
	}
}

func endWithoutCollector(t *testing.T, endpoint string) faults {
	f := faults{}
	const patience = 2 * time.Second
	r := startLoad(t, endpoint, "w", "--calls", "100000", "--queue", "64", "--batch", "64", "--ending", patience.String()).finish(t)
	if took := time.Duration(r.StoppingNS); took > patience+500*time.Millisecond {
		f.addf("the SDK's shutdown", "it took %s, its deadline was %s", took, patience)
	}
	if r.Shutdown == "" {
		t.Error("the SDK's shutdown did not say that it could not deliver")
	}
	if r.Goroutines != 0 {
		t.Errorf("%d goroutines were left", r.Goroutines)
	}
	total, outer := int64(0), int64(0)
	for _, m := range r.Methods {
		total, outer = total+m.Calls, outer+m.OuterWallNS
	}
	if total != 100_000 {
		t.Errorf("the process made %d calls of 100000", total)
	}
	// Every call is timed with its CPU, which takes microseconds even on a busy machine. Waiting
	// for a collector would take seconds.
	if mean := time.Duration(outer / total); mean > 100*time.Microsecond {
		f.addf("calls", "an empty one took %s on average", mean)
	}
	return f
}

// TestShippedConfiguration_Works proves that config/collector.yaml works as its comments describe,
// with only addresses and paths set.
func TestShippedConfiguration_Works(t *testing.T) {
	t.Parallel()
	p := newShippedPipeline(t, "")
	p.start(t)
	l := startLoad(t, p.Endpoint(), "w", "--pause", "1ms")
	await(t, "counts to arrive", func(ctx context.Context) (bool, error) {
		m, err := p.Scrape(ctx)
		return err == nil && m.Sum("otelcol_receiver_method_spans_received", "kind", "counts") > 0, err
	})
	r := l.end(t)
	p.stop(t)
	requireExact(t, p, r)
	requireQuietLog(t, p)
}

// requireQuietLog asserts that the collector logged no warning and no error.
func requireQuietLog(t *testing.T, p *pipeline) {
	t.Helper()
	data, err := os.ReadFile(p.Process().Log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		lower := strings.ToLower(line)
		for _, word := range []string{`"level":"warn"`, `"level":"error"`, "\twarn\t", "\terror\t", "panic"} {
			if strings.Contains(lower, word) {
				t.Errorf("the collector's log: %s", line)
			}
		}
	}
}
