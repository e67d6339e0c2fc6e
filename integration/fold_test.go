package integration

import (
	"math"
	"testing"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// TestTotalsAreRightWhenSlowCallsMeetAFullQueue proves that overflow degrades to
// sums and not to a bias. Slow calls come in bursts in which the queue is full,
// so the measurements that get through as rows are those of quick calls: their
// mean is far off. The totals are right all the same.
func TestTotalsAreRightWhenSlowCallsMeetAFullQueue(t *testing.T) {
	t.Parallel()
	p := startPipeline(t, quickWarehouse)
	proxy := p.newProxy(t, func(int) harness.Fault { return harness.Delay(100 * time.Millisecond) })
	r := startLoad(t, proxy.Endpoint(), "w", "--calls", "2300", "--goroutines", "2", "--methods", "1",
		"--work", "100us", "--pause", "30ms", "--slow-every", "230", "--slow-burst", "200", "--slow-work", "1ms",
		"--queue", "8", "--batch", "8", "--flush", "20ms").finish(t)
	p.stop(t)
	if r.SDK["Dropped"] == 0 || r.SDK["FoldLost"] != 0 {
		t.Fatalf("measurements were to be dropped and folded, none lost: %v", r.SDK)
	}
	requireExact(t, p, r)
	requireEveryCallMeasured(t, p, r)

	truth := r.Methods["workload/unit0.Worker.Step0"]
	rows := query[struct {
		Wall float64 `json:"wall"`
		CPU  float64 `json:"cpu"`
		Rows int64   `json:"rows"`
		Mean float64 `json:"mean"`
	}](t, p, `SELECT SUM(w_wall * wall_ns) AS wall, SUM(w * cpu_ns) AS cpu,
		COUNT(*) FILTER (kind = 'call') AS rows, AVG(wall_ns) FILTER (kind = 'call') AS mean
		FROM method_cost WHERE method = 'Step0'`)
	if len(rows) != 1 {
		t.Fatalf("%d rows of sums", len(rows))
	}
	got := rows[0]
	trueMean := float64(truth.WallNS) / float64(truth.Calls)
	t.Logf("of %d calls %d are rows of their own; their mean wall time is off by %+.1f%%", truth.Calls, got.Rows, 100*(got.Mean/trueMean-1))
	if got.Rows == 0 || got.Mean > 0.8*trueMean {
		t.Errorf("the %d rows that got through have a mean of %.0f ns, true are %.0f: the drops did not hit the slow calls, this proves nothing", got.Rows, got.Mean, trueMean)
	}
	requireWithin(t, "wall time", got.Wall, float64(truth.WallNS), 0.01)
	requireWithin(t, "CPU time", got.CPU, float64(truth.CPUNS), 0.01)
}

func requireWithin(t *testing.T, what string, estimate, truth, relative float64) {
	t.Helper()
	deviation := estimate/truth - 1
	t.Logf("%s: estimated %.3f s, true %.3f s (%+.3f%%)", what, estimate/1e9, truth/1e9, 100*deviation)
	if math.IsNaN(deviation) || math.Abs(deviation) > relative {
		t.Errorf("%s is estimated to be %.3f s, the workload measured %.3f s: %+.2f%% off, allowed are %.2f%%", what, estimate/1e9, truth/1e9, 100*deviation, 100*relative)
	}
}
