package integration

import (
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"
)

// startPair starts two collectors that serve rates on the same port of two local addresses, as in a
// cluster.
func startPair(t *testing.T, config string) []*pipeline {
	t.Helper()
	first := startPipeline(t, config)
	localAddress := func(address string) string {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		return net.JoinHostPort("127.0.0.2", port)
	}
	http, rates := localAddress(first.HTTP), localAddress(first.Rates)
	second := newPipeline(t, config+fmt.Sprintf("receivers: {method_spans: {protocols: {http: {endpoint: %q}}}}\nextensions: {sampling_rates: {endpoint: %q}}\n", http, rates))
	second.HTTP, second.Rates = http, rates
	second.start(t)
	return []*pipeline{first, second}
}

// activeCollector returns the index of the collector that receives spans.
func activeCollector(t *testing.T, pipelines []*pipeline) int {
	t.Helper()
	at := -1
	await(t, "a collector to be chosen", func(ctx context.Context) (bool, error) {
		for i, p := range pipelines {
			m, err := p.Scrape(ctx)
			if err != nil {
				return false, err
			}
			if m.Sum("otelcol_receiver_method_spans_received", "kind", "process") >= 2 {
				at = i
			}
		}
		return at >= 0, nil
	})
	return at
}

// TestRates_StayWhenTheCollectorIsGone proves that a service keeps its rates when the collector
// that decided them is gone: the next one takes them over from the records that arrive. An orderly
// stop loses no call; a kill loses only calls that the collector held.
func TestRates_StayWhenTheCollectorIsGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(*pipeline) error
		held time.Duration // calls of this time before the end can be lost
	}{
		{"stopped", func(p *pipeline) error { return p.Stop() }, 0},
		{"killed", func(p *pipeline) error { return p.Kill() }, 5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			withRetries(t, func() faults { return replaceCollector(t, c.end, c.held) })
		})
	}
}

func replaceCollector(t *testing.T, end func(*pipeline) error, held time.Duration) faults {
	f := faults{}
	pipelines := startPair(t, quickWarehouse+"\nprocessors: {adaptive_sampler: {strategy: tiers, interval: 1s, cold_start: {rate: 0.1}, classes: {hold_intervals: 1, inner_calls_per_second: 100}}}\n")
	_, port, err := net.SplitHostPort(pipelines[0].Rates)
	if err != nil {
		t.Fatal(err)
	}
	l := busyAndRare(t, []string{
		"COREHOUR_ENDPOINTS=" + pipelines[0].Endpoint() + "," + pipelines[1].Endpoint(), "COREHOUR_RATES_ENDPOINT=:" + port,
	}, "w", "--pause", "100us")
	counters := l.counters(t)
	history := recordHistory(t, counters)
	at := activeCollector(t, pipelines)
	first, next := pipelines[at], pipelines[1-at]
	first.awaitRate(t, "workload", busy, 0.00099, 0.00101)
	first.awaitRate(t, "workload", rare, 1, 1)
	ended := time.Now()
	if err := end(first); err != nil {
		t.Fatal(err)
	}
	most := int64(0) // upper bound of the lost calls
	if held > 0 {
		most = history.since(counters, held+time.Since(ended))
	}
	next.awaitRate(t, "workload", busy, 0.00099, 0.00101)
	next.awaitRate(t, "workload", rare, 1, 1)
	next.awaitMetric(t, 50, "otelcol_receiver_method_spans_received", "kind", "call")
	r := l.end(t)
	next.stop(t)
	// The SDK reports its rates in force, so the next collector leaves them until it has counts of
	// its own. A rate that had started again in the SDK would have come back by doubling and left
	// records on the way. Records queued before the change are excluded. Counts that arrive an
	// interval of a second late can show the busy method idle, but not in every try.
	allowed := map[string][]float64{"Step0": {0.001}, "Step1": {1}}
	for _, row := range query[struct {
		Method string  `json:"method"`
		P      float64 `json:"p"`
	}](t, next, "SELECT DISTINCT method, p FROM method_calls WHERE kind = 'call' AND start_ns >= "+strconv.FormatInt(ended.UnixNano(), 10)) {
		near := func(p float64) bool { return math.Abs(row.P/p-1) < 0.01 }
		if !slices.ContainsFunc(allowed[row.Method], near) {
			f.addf("the rate of "+row.Method, "the next collector has records with p = %v: it did not stay", row.P)
		}
	}
	stored := sum(storedCalls(t, first)["w"]) + sum(storedCalls(t, next)["w"])
	lost := sum(countedCalls(r)) - stored
	t.Logf("%d calls made, %d stored, %d lost", sum(countedCalls(r)), stored, lost)
	if r.Shutdown != "" || lost < 0 || lost > 0 && held == 0 {
		t.Errorf("%d calls made, %d stored in both warehouses: %s", sum(countedCalls(r)), stored, r.Shutdown)
	}
	if lost > most {
		f.addf("calls lost", "%d of %d; the collector held at most %d", lost, sum(countedCalls(r)), most)
	}
	return f
}
