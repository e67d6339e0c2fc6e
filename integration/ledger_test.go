package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/integration/groundtruth"
	"github.com/corehour/corehour/integration/harness"
)

// smallWarehouse configures a queue that holds less than a second of the tests' load, and keeps it
// for long.
const smallWarehouse = `
exporters:
  warehouse:
    sending_queue: {queue_size: 300, batch: {min_size: 300, flush_timeout: 2s}}
`

// quickWarehouse writes soon, so that tests do not wait.
const quickWarehouse = `
exporters:
  warehouse:
    sending_queue: {batch: {min_size: 2000, flush_timeout: 200ms}}
`

// TestCounts_SDKQueueOverflows proves that a full queue in the process costs no call: refused
// measurements are aggregated, and counts take another path.
func TestCounts_SDKQueueOverflows(t *testing.T) {
	t.Parallel()
	p := startPipeline(t, quickWarehouse)
	r := startLoad(t, p.Endpoint(), "w", "--calls", "300000", "--queue", "4", "--batch", "4").finish(t)
	if r.SDK["Dropped"] == 0 {
		t.Fatalf("the SDK's queue never overflowed: %v", r.SDK)
	}
	p.stop(t)
	requireExact(t, p, r)
	requireEveryCallMeasured(t, p, r)
}

// TestCounts_WarehouseQueueOverflows proves that a full queue of the exporter costs no call:
// refused measurements are aggregated and stored.
func TestCounts_WarehouseQueueOverflows(t *testing.T) {
	t.Parallel()
	p := startPipeline(t, smallWarehouse)
	r := startLoad(t, p.Endpoint(), "w", "--duration", "5s", "--pause", "1ms", "--methods", "20", "--flush", "100ms").finish(t)
	m := p.metrics(t)
	for _, name := range []string{"offers_refused", "measurements_folded", "calls_folded"} {
		if m.Sum("otelcol_exporter_warehouse_"+name) == 0 {
			t.Errorf("otelcol_exporter_warehouse_%s is zero: the exporter's queue never overflowed", name)
		}
	}
	c, err := p.command.Check(t.Context(), "--collector", "http://"+p.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0.0
	for name, n := range c.Losses.Collector {
		if strings.HasPrefix(name, "otelcol_exporter_warehouse_offers_refused") {
			refused += n
		}
	}
	if refused == 0 {
		t.Errorf("check --collector does not show what the exporter refused: %v", c.Losses.Collector)
	}
	if lost := m.Sum("otelcol_exporter_warehouse_fold_lost"); lost != 0 {
		t.Errorf("the overflow table lost %v", lost)
	}
	p.stop(t)
	requireExact(t, p, r)
	requireEveryCallMeasured(t, p, r)
}

// TestCounts_MethodTableOverflows proves that methods beyond the receiver's bound lose their names
// and nothing else.
func TestCounts_MethodTableOverflows(t *testing.T) {
	t.Parallel()
	const bound, methods = 5, 20
	p := startPipeline(t, quickWarehouse+`
receivers: {method_spans: {limits: {max_methods: 5}}}
`)
	r := startLoad(t, p.Endpoint(), "w", "--calls", "100000", "--methods", "20").finish(t)
	if p.metrics(t).Sum("otelcol_receiver_method_spans_overflow", "table", "methods") == 0 {
		t.Error("the receiver's table of methods never overflowed")
	}
	p.stop(t)

	stored := storedCalls(t, p)["w"]
	if len(stored) != bound+1 {
		t.Errorf("%d methods may have names, and one is (overflow); stored are %v", bound, stored)
	}
	rest := sum(countedCalls(r))
	for name, calls := range stored {
		if want, ok := r.Methods[name]; ok {
			rest -= want.Calls
			if calls != want.Calls {
				t.Errorf("%s made %d calls, %d are stored", name, want.Calls, calls)
			}
		}
	}
	if stored["(overflow)"] != rest || rest == 0 {
		t.Errorf("(overflow) stands for %d calls, it should be %d", stored["(overflow)"], rest)
	}
	requireSoundRows(t, p)
	requireBalanced(t, p, r)
}

// TestCounts_EverythingOverflows combines all of this: two processes of one service, a slow
// network, and a sampler that keeps one measurement in a hundred.
func TestCounts_EverythingOverflows(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	t.Parallel()
	p := startPipeline(t, smallWarehouse+`
processors: {adaptive_sampler: {default_rate: 0.01}}
`)
	proxy := p.newProxy(t, func(int) harness.Fault { return harness.Delay(100 * time.Millisecond) })
	args := []string{"--duration", "5s", "--pause", "100us", "--queue", "16", "--batch", "16", "--methods", "40"}
	first := startLoad(t, proxy.Endpoint(), "w-1", args...)
	second := startLoad(t, proxy.Endpoint(), "w-2", args...)
	reports := []groundtruth.ProcessRecord{first.finish(t), second.finish(t)}
	p.stop(t)
	for _, r := range reports {
		if r.SDK["Dropped"] == 0 {
			t.Errorf("%s: the SDK's queue never overflowed: %v", r.Instance, r.SDK)
		}
	}
	requireExact(t, p, reports...)
}

// requireEveryCallMeasured asserts that at p = 1 no measurement is lost: every call is a row or
// part of an aggregate.
func requireEveryCallMeasured(t *testing.T, p *pipeline, reports ...groundtruth.ProcessRecord) {
	t.Helper()
	want := int64(0)
	for _, r := range reports {
		want += sum(countedCalls(r))
	}
	for _, row := range query[struct {
		Measured int64 `json:"measured"`
	}](t, p, `SELECT CAST(SUM(measured) AS BIGINT) AS measured FROM method_calls WHERE kind IN ('call', 'aggregate')`) {
		if row.Measured != want {
			t.Errorf("%d calls were made and timed, %d measurements are stored", want, row.Measured)
		}
	}
}

// TestDuplicateRows_TwoProcessesOfOneName proves that two processes with the same instance name and
// the same batch numbers are not taken for repeats of each other.
func TestDuplicateRows_TwoProcessesOfOneName(t *testing.T) {
	t.Parallel()
	p := startPipeline(t, quickWarehouse)
	first := startLoad(t, p.Endpoint(), "w", "--calls", "20000", "--methods", "3")
	second := startLoad(t, p.Endpoint(), "w", "--calls", "30000", "--methods", "3")
	want := map[string]int64{}
	for _, r := range []groundtruth.ProcessRecord{first.finish(t), second.finish(t)} {
		for name, calls := range countedCalls(r) {
			want[name] += calls
		}
	}
	p.stop(t)
	if d := differences(want, storedCalls(t, p)["w"]); len(d) > 0 {
		t.Errorf("calls of both processes together: %v", d)
	}
	requireSoundRows(t, p)
	c := check(t, p)
	if !c.Balanced || len(c.Processes) != 2 || c.Processes[0].CountedCalls+c.Processes[1].CountedCalls != 50_000 {
		t.Errorf("there are two accounts that balance, of 50000 calls: %s", c.Output)
	}
}
