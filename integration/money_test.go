package integration

import (
	"math"
	"testing"
)

// TestCollectorMetrics_MatchTheWarehouse proves that the collector's own metrics of cost match the
// warehouse: exactly for processes, within the sampling error for entry calls.
func TestCollectorMetrics_MatchTheWarehouse(t *testing.T) {
	t.Parallel()
	const rate, requestsPerSecond = 0.5, "400"
	p := startPipeline(t, `
processors: {adaptive_sampler: {default_rate: 0.5}}
`+quickWarehouse)
	waitFor(t, startProgramWith(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + p.Endpoint()}, "money", programs.scenarios,
		"--scenario", "steady", "--duration", "6s", "--rate", requestsPerSecond))
	m := p.metrics(t)
	p.stop(t)

	type money struct{ Hours, USD, Records float64 }
	const perHour = " / 3.6e12 AS hours"
	process := query[money](t, p, `SELECT SUM(cpu_ns)`+perHour+`, SUM(cpu_ns * usd_per_core_hour) / 3.6e12 AS usd, 0.0 AS records
		FROM method_calls WHERE kind = 'process'`)[0]
	entries := query[money](t, p, `SELECT SUM(w * cpu_ns)`+perHour+`, SUM(cost_usd) AS usd, COUNT(*) * 1.0 AS records
		FROM method_cost WHERE caller = '(entry)' AND cpu_measured > 0`)[0]
	if process.Hours <= 0 || entries.Records < 500 {
		t.Fatalf("the warehouse has %g core hours of processes and %g records of entry calls", process.Hours, entries.Records)
	}
	const name = "otelcol_processor_cost_attribution_"
	for _, c := range []struct {
		metric          string
		want, tolerance float64
	}{
		{"process_core_hours", process.Hours, 1e-9},
		{"process_cost", process.USD, 1e-9},
		// The warehouse has the number of calls, the metric only the number of kept records.
		{"entry_core_hours", entries.Hours, 5 * math.Sqrt((1-rate)/entries.Records)},
		{"entry_cost", entries.USD, 5 * math.Sqrt((1-rate)/entries.Records)},
	} {
		found := m.Sum(name+c.metric, "service", "steady")
		t.Logf("%s is %g, the warehouse says %g: %+.2f%%", c.metric, found, c.want, 100*(found/c.want-1))
		if !(math.Abs(found-c.want) <= c.tolerance*c.want) {
			t.Errorf("%s is %g, the warehouse says %g, and at most %.1f%% may be between them", c.metric, found, c.want, 100*c.tolerance)
		}
	}
}
