package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// requireLines asserts that each of the wanted texts is a complete line.
func requireLines(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		n := 0
		for line := range strings.Lines(text) {
			if strings.Contains(line, want) {
				n++
			}
		}
		if n == 0 {
			t.Errorf("no line says %q", want)
		}
	}
	if t.Failed() {
		t.Logf("printed was:\n%s", text)
	}
}

// requireRefused asserts that both `validate` and a start fail and print all of the wanted lines at
// once.
func requireRefused(t *testing.T, p *pipeline, wanted ...string) {
	t.Helper()
	o, err := p.Run(t.Context(), "validate")
	if err != nil {
		t.Fatal(err)
	}
	if o.Code == 0 {
		t.Errorf("validate accepts what is wrong: %s", o)
	}
	requireLines(t, string(o.Stdout)+string(o.Stderr), wanted...)
	requireStartFails(t, p, wanted...)
}

// requireStartFails asserts that the collector ends by itself and reports why.
func requireStartFails(t *testing.T, p *pipeline, wanted ...string) {
	t.Helper()
	if err := p.Launch(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), endPatience)
	defer cancel()
	_ = p.Process().Wait(ctx) // an error is expected
	if !p.Process().Ended() || p.Process().ExitCode() <= 0 {
		t.Fatalf("the collector should have ended with an exit code: %s", p.Process().LastLines(10))
	}
	log, err := os.ReadFile(p.Process().Log)
	if err != nil {
		t.Fatal(err)
	}
	requireLines(t, string(log), wanted...)
}

// requireValid asserts that `validate` succeeds, and returns its output.
func requireValid(t *testing.T, p *pipeline) string {
	t.Helper()
	o, err := p.Run(t.Context(), "validate")
	if err != nil {
		t.Fatal(err)
	}
	if o.Code != 0 {
		t.Errorf("validate refuses it: %s", o)
	}
	return string(o.Stdout) + string(o.Stderr)
}

// TestValidate_UnknownKeys proves that an unknown key stops the collector, and that those of
// receivers, processors and exporters are reported at once. (Of several processors the collector's
// own reader names one.)
func TestValidate_UnknownKeys(t *testing.T) {
	t.Parallel()
	requireRefused(t, newPipeline(t, `
receivers: {method_spans: {asumed_rate: 0.5}}
processors: {adaptive_sampler: {default_ratio: 0.5}}
exporters: {warehouse: {directory: here}}
`),
		"has invalid keys: asumed_rate",
		"has invalid keys: default_ratio",
		"has invalid keys: directory",
	)
	requireRefused(t, newPipeline(t, `
processors: {cost_attribution: {price: {default: 1}}}
`), "has invalid keys: price")
}

// TestValidate_BadValues proves that bad values are reported at once, each with its rule and the
// value found.
func TestValidate_BadValues(t *testing.T) {
	t.Parallel()
	requireRefused(t, newPipeline(t, `
receivers: {method_spans: {assumed_rate: 3, limits: {max_methods: 0}}}
processors:
  adaptive_sampler: {default_rate: -0.5}
  cost_attribution: {prices: {default: {usd_per_core_hour: -0.04}, prices: [{host_type: m5, usd_per_core_hour: 0}]}}
exporters: {warehouse: {on_full: discard, sending_queue: {num_consumers: 4}}}
`),
		"receivers::method_spans: `assumed_rate` must be above 0 and at most 1, found 3",
		"receivers::method_spans::limits: `max_methods` must be between 1 and 1000000, found 0",
		"processors::adaptive_sampler: `default_rate` must be between 1e-09 and 1, found -0.5",
		"processors::cost_attribution::prices::default: `usd_per_core_hour` must be a finite number above 0, found -0.04",
		"processors::cost_attribution::prices::prices::0: `usd_per_core_hour` must be a finite number above 0, found 0",
		"exporters::warehouse: `on_full` must be \"drop\" or \"reject\", found \"discard\"",
		"`sending_queue::num_consumers` must be 1, since one write is in flight at a time; found 4",
	)
}

const badMethods = `{"version": 1, "tiers": {"inner": {"rate": 0.5}}, "methods": [
  {"class": "workload/unit0.Worker", "method": "Step0", "rate": 0.5},
  {"class": "workload/unit1.Worker", "method": "Step1", "rate": 2},
  {"class": "workload/unit2.Worker", "method": "Step2", "tier": "iner"}]}`

const badPrices = `
default: {usd_per_core_hour: 0.04}
prices:
  - {host_type: m5, usd_per_core_hour: 0.05}
  - {host_type: m6, usd_per_core_hour: -1}
  - {hosttype: m7, usd_per_core_hour: 0.06}
`

// faultyFiles writes a method file and a price book with faulty entries. It returns a configuration
// that reads them, strictly or not, and the expected faults.
func faultyFiles(t *testing.T, strict bool) (config string, faults []string) {
	t.Helper()
	dir := t.TempDir()
	methods, prices := filepath.Join(dir, "methods.json"), filepath.Join(dir, "prices.yaml")
	for path, text := range map[string]string{methods: badMethods, prices: badPrices} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config = fmt.Sprintf(`
processors:
  adaptive_sampler: {methods_file: %q, strict: %v}
  cost_attribution: {prices: null, price_book: %q, strict: %v}
`, methods, strict, prices, strict) + quickWarehouse
	return config, []string{
		"methods[1].rate (line 3): must be between",
		"methods[2].tier (line 4): must be a key of `tiers`, found",
		"prices[1].usd_per_core_hour (line 5): must be a finite number above 0, found",
		"prices[2] (line 6): unknown key",
	}
}

// TestValidate_FaultyEntriesCostOnlyThemselves proves that `validate` and a start report faulty
// entries of a method file and of a price book by index and rule, and that the valid entries next
// to them work.
func TestValidate_FaultyEntriesCostOnlyThemselves(t *testing.T) {
	t.Parallel()
	config, faults := faultyFiles(t, false)
	p := newPipeline(t, config)
	requireLines(t, requireValid(t, p), faults...)

	p.start(t)
	r := startLoad(t, p.Endpoint(), "w", "--calls", "8000", "--methods", "2").finish(t)
	p.stop(t)
	log, err := os.ReadFile(p.Process().Log)
	if err != nil {
		t.Fatal(err)
	}
	requireLines(t, string(log), faults...)
	requireExact(t, p, r)
	// The valid entry halves the first method's measurements; the faulty entry changes nothing for
	// the second. Both have the default price.
	for _, row := range query[struct {
		Method string  `json:"method"`
		Share  float64 `json:"share"`
		Least  float64 `json:"least"`
		Most   float64 `json:"most"`
	}](t, p, `SELECT method, SUM(measured) / SUM(calls) AS share, MIN(usd_per_core_hour) AS least, MAX(usd_per_core_hour) AS most
		FROM method_calls WHERE kind <> 'process' GROUP BY ALL`) {
		if row.Least != 0.04 || row.Most != 0.04 {
			t.Errorf("%s: prices are from %v to %v", row.Method, row.Least, row.Most)
		}
		switch row.Method {
		case "Step0":
			if row.Share < 0.45 || row.Share > 0.55 { // six standard errors
				t.Errorf("Step0: a share of %v is measured, the file says 0.5", row.Share)
			}
		case "Step1":
			if row.Share != 1 {
				t.Errorf("Step1: a share of %v is measured, its faulty entry should change nothing", row.Share)
			}
		default:
			t.Errorf("%s is stored and was never called", row.Method)
		}
	}
}

// TestValidate_StrictRefusesFaultyEntries proves that `strict` refuses the same files.
func TestValidate_StrictRefusesFaultyEntries(t *testing.T) {
	t.Parallel()
	config, faults := faultyFiles(t, true)
	requireRefused(t, newPipeline(t, config), faults...)
}

// TestStart_WarehouseCannotBeWritten proves that a directory that cannot be created is an error of
// the start, not of the configuration.
func TestStart_WarehouseCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, "")
	if err := os.WriteFile(p.Warehouse, []byte("a file, no directory\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	requireValid(t, p)
	requireStartFails(t, p, p.Warehouse)
}

// TestStart_SecondWriterIsRefused proves that two collectors never write to one warehouse: the
// second reports it and ends, the first is not disturbed.
func TestStart_SecondWriterIsRefused(t *testing.T) {
	t.Parallel()
	first := startPipeline(t, quickWarehouse)
	l := startLoad(t, first.Endpoint(), "w", "--pause", "1ms")
	first.awaitMetric(t, 1, "otelcol_exporter_warehouse_rows_written")

	c, err := harness.NewCollector(programs.collector, t.TempDir(), first.Warehouse, "")
	if err != nil {
		t.Fatal(err)
	}
	second := &pipeline{Collector: c}
	t.Cleanup(func() { _ = c.Close() })
	requireValid(t, second)
	begin := time.Now()
	requireStartFails(t, second, "another process writes to it")
	t.Logf("refused after %s", time.Since(begin).Round(time.Millisecond))

	r := l.end(t)
	first.stop(t)
	requireExact(t, first, r)
}
