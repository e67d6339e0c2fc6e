package integration

import (
	"testing"
	"time"

	"github.com/corehour/corehour/integration/groundtruth"
	"github.com/corehour/corehour/integration/harness"
)

// TestTotals_SlowCallsMeetAFullQueue proves that an overflow loses detail but adds no bias. Slow
// calls come in bursts that fill the queue, so most measurements that become rows are of quick
// calls and their mean is far off. The totals are right nevertheless.
func TestTotals_SlowCallsMeetAFullQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	t.Parallel()
	withRetries(t, func() faults { return slowCallsMeetAFullQueue(t) })
}

func slowCallsMeetAFullQueue(t *testing.T) faults {
	const slowShare = 200.0 / 230
	f := faults{}
	p := startPipeline(t, quickWarehouse)
	proxy := p.newProxy(t, func(int) harness.Fault { return harness.Delay(100 * time.Millisecond) })
	r := startLoad(t, proxy.Endpoint(), "w", "--calls", "2300", "--goroutines", "2", "--methods", "1",
		"--work", "100us", "--pause", "30ms", "--slow-every", "230", "--slow-burst", "200", "--slow-work", "1ms",
		"--queue", "8", "--batch", "8", "--flush", "20ms").finish(t)
	p.stop(t)
	if r.SDK["Dropped"] == 0 || r.SDK["FoldLost"] != 0 {
		t.Fatalf("measurements were to be dropped and aggregated, none lost: %v", r.SDK)
	}
	requireExact(t, p, r)
	requireEveryCallMeasured(t, p, r)

	m := r.Methods["workload/unit0.Worker.Step0"]
	rows := query[struct {
		Wall float64 `json:"wall"`
		CPU  float64 `json:"cpu"`
		Rows int64   `json:"row_count"`
		Slow int64   `json:"slow_count"`
		Mean float64 `json:"mean"`
	}](t, p, `SELECT SUM(w_wall * wall_ns) AS wall, SUM(w * cpu_ns) AS cpu,
		COUNT(*) FILTER (kind = 'call') AS row_count, COUNT(*) FILTER (kind = 'call' AND wall_ns >= 1000000) AS slow_count,
		AVG(wall_ns) FILTER (kind = 'call') AS mean
		FROM method_cost WHERE method = 'Step0'`)
	if len(rows) != 1 {
		t.Fatalf("%d rows of sums", len(rows))
	}
	got := rows[0]
	naive := got.Mean * float64(m.Calls)
	t.Logf("of %d calls, %.0f%% of them slow, %d are rows of their own, %d of them slow: calls times their mean is %+.1f%% off",
		m.Calls, 100*slowShare, got.Rows, got.Slow, 100*(naive/float64(m.WallNS)-1))
	if got.Rows == 0 || float64(got.Slow) > 0.9*slowShare*float64(got.Rows) {
		f.addf("what was dropped", "the drops did not hit the slow calls: this proves nothing")
	}
	requireWithin(t, f, "wall time", got.Wall, m.WallNS, m.OuterWallNS, 0.01)
	requireCPU(t, f, r, got.CPU, 0.01)
	return f
}

// TestTotals_EveryStageSamples proves that estimates compose. The process times one call in five,
// its queue refuses most of the measurements and aggregates them at that rate, and the collector
// keeps one in twenty of the others. The stored records then have two probabilities: mostly the
// lower one for quick calls, mostly the higher one for slow calls.
func TestTotals_EveryStageSamples(t *testing.T) {
	t.Parallel()
	withRetries(t, func() faults { return everyStageSamples(t) })
}

func everyStageSamples(t *testing.T) faults {
	f := faults{}
	p := startPipeline(t, quickWarehouse+`
processors: {adaptive_sampler: {default_rate: 0.05}}
`)
	proxy := p.newProxy(t, func(int) harness.Fault { return harness.Delay(100 * time.Millisecond) })
	r := startLoad(t, proxy.Endpoint(), "w", "--calls", "24000", "--goroutines", "2", "--methods", "1", "--rate", "0.2",
		"--work", "20us", "--pause", "500us", "--slow-every", "3000", "--slow-burst", "2000", "--slow-work", "200us",
		"--queue", "64", "--batch", "64", "--flush", "20ms").finish(t)
	p.stop(t)
	requireExact(t, p, r)
	m := r.Methods["workload/unit0.Worker.Step0"]
	rows := query[struct {
		CPU     float64 `json:"cpu"`
		Rows    int64   `json:"row_count"`
		Thinned int64   `json:"thinned"`
		Folded  int64   `json:"folded"`
		Plain   float64 `json:"plain"`
	}](t, p, `SELECT SUM(w * cpu_ns) AS cpu, SUM(cpu_ns) / SUM(cpu_measured) AS plain,
		COUNT(*) FILTER (kind = 'call' AND abs(p - 0.05) < 1e-9) AS thinned,
		CAST(SUM(measured) FILTER (kind = 'aggregate' AND abs(p - 0.2) < 1e-9) AS BIGINT) AS folded,
		COUNT(*) FILTER (kind = 'call') AS row_count
		FROM method_cost WHERE method = 'Step0' AND measured > 0`)
	if len(rows) != 1 {
		t.Fatalf("%d rows of sums", len(rows))
	}
	got := rows[0]
	t.Logf("of %d calls %d are rows of their own, %d are aggregated; calls times the plain mean is %+.1f%% off",
		m.Calls, got.Rows, got.Folded, 100*(got.Plain*float64(m.Calls)/float64(m.CPUNS)-1))
	if got.Rows == 0 || got.Thinned != got.Rows {
		t.Errorf("rows are to have the lower probability: %+v", got)
	}
	if got.Folded < 100 {
		f.addf("what was aggregated", "sums are to have the higher probability: %+v", got)
	}
	// The bound is about five standard errors of the drawn records; counts have no error. The bound
	// of wall time would have to be wider: one call that lost its processor for long stands for
	// twenty.
	requireCPU(t, f, r, got.CPU, 0.1)
	return f
}

// requireCPU asserts an estimate of the CPU time of all calls of the workload's one method.
func requireCPU(t *testing.T, f faults, r groundtruth.ProcessRecord, estimate, relative float64) {
	t.Helper()
	if n := r.SDK["CPUWallOnly"]; n != 0 {
		// The remaining calls would be estimated from the few with a CPU time.
		f.addf("CPU time", "the machine stood still for so long that the SDK gave up timing the CPU of %d methods", n)
		return
	}
	m := r.Methods["workload/unit0.Worker.Step0"]
	requireWithin(t, f, "CPU time", estimate, m.CPUNS, m.OuterCPUNS, relative)
}

// requireWithin asserts that an estimate is at most relative off the truth, which is known to lie
// between low and high.
func requireWithin(t *testing.T, f faults, what string, estimate float64, low, high int64, relative float64) {
	t.Helper()
	t.Logf("%s: estimated %.4f s, true is between %.4f s and %.4f s", what, estimate/1e9, float64(low)/1e9, float64(high)/1e9)
	if !(estimate >= float64(low)*(1-relative) && estimate <= float64(high)*(1+relative)) {
		f.addf(what, "it is estimated to be %.4f s, the workload measured between %.4f s and %.4f s", estimate/1e9, float64(low)/1e9, float64(high)/1e9)
	}
}
