package integration

import (
	"context"
	"testing"

	"github.com/corehour/corehour/integration/harness"
)

// TestSeveralCollectors_ProcessUsesTheNext proves that a process that knows several collectors
// sends to one and, when that is gone, to the next. No call is lost or stored twice: the two
// warehouses add up.
func TestSeveralCollectors_ProcessUsesTheNext(t *testing.T) {
	t.Parallel()
	pipelines := []*pipeline{startPipeline(t, quickWarehouse), startPipeline(t, quickWarehouse)}
	l := startLoadByEnvironment(t, []string{"COREHOUR_ENDPOINTS=" + pipelines[0].Endpoint() + "," + pipelines[1].Endpoint()}, "w",
		"--pause", "1ms", "--flush", "50ms")

	home := -1
	await(t, "a collector to be chosen", func(ctx context.Context) (bool, error) {
		for i, p := range pipelines {
			m, err := p.Scrape(ctx)
			if err != nil {
				return false, err
			}
			if m.Sum("otelcol_receiver_method_spans_received", "kind", "process") >= 2 {
				home = i
			}
		}
		return home >= 0, nil
	})
	first, next := pipelines[home], pipelines[1-home]
	if received := next.metrics(t).Sum("otelcol_receiver_method_spans_received"); received != 0 {
		t.Errorf("%v spans went to the other collector while the first was there", received)
	}
	first.stop(t)
	next.awaitMetric(t, 2, "otelcol_receiver_method_spans_received", "kind", "process")
	r := l.end(t)
	next.stop(t)

	stored := map[string]int64{}
	for _, p := range pipelines {
		requireSoundRows(t, p)
		for name, calls := range storedCalls(t, p)["w"] {
			stored[name] += calls
		}
	}
	if d := differences(countedCalls(r), stored); len(d) > 0 || r.Shutdown != "" {
		t.Errorf("the workload counted %d calls, %d are stored in both warehouses: %v %s", sum(countedCalls(r)), sum(stored), d, r.Shutdown)
	}

	// Both warehouses balance together. The second alone lacks the rows of the first, and its check
	// reports them as missing.
	both, err := next.command.Check(t.Context(), "--warehouse", first.command.Warehouse)
	if err != nil {
		t.Fatal(err)
	}
	account := requireAccount(t, both, "w")
	if total := sum(countedCalls(r)); both.Output.Code != harness.ExitNothing || !both.Balanced || account.HandedOutCalls != total || account.CountedCalls != total || account.State != "ended" {
		t.Errorf("the accounts of both warehouses, of %d calls: %s", total, both.Output)
	}
	alone, err := next.command.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	account = requireAccount(t, alone, "w")
	if want := sum(storedCalls(t, first)["w"]); alone.Output.Code != harness.ExitCannotTell || account.NotJudgedCalls != want || account.LostInTransit != 0 {
		t.Errorf("%d calls went to the first collector: %s", want, alone.Output)
	}
}
