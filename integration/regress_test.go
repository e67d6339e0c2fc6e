package integration

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/corehour/corehour/integration/harness"
)

// TestRegress_NodeClient proves that a method of a stock Node.js client that takes four times as
// long in a new version is found by wall time. Its callers, its healthy siblings and a service that
// was deployed without a change raise no alert. It runs alone: load of other tests would be a
// regression of the clients' wall time, too.
func TestRegress_NodeClient(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	withRetries(t, func() faults { return deployNodeClients(t) })
}

func deployNodeClients(t *testing.T) faults {
	f := faults{}
	const instances = 3 // of each version; with buckets of time they give the intervals
	p := startPipeline(t, quickWarehouse)
	var clients []*harness.Process
	reports := map[string][]string{} // by service and version
	dir := t.TempDir()
	deploy := func(version string, render map[string]string) {
		for i := range instances {
			for service, milliseconds := range render {
				instance := fmt.Sprintf("%s-%s-%d", service, version, i)
				report := filepath.Join(dir, instance)
				reports[service+" "+version] = append(reports[service+" "+version], report)
				clients = append(clients, startProgram(t, instance, programs.node, programs.nodeClient,
					"--endpoint", p.Endpoint(), "--service", service, "--version", version, "--instance", instance,
					"--render-ms", milliseconds, "--seconds", "7", "--requests", "50", "--report", report, "--begin", filepath.Join(dir, version)))
			}
		}
	}
	begin := func(version string) {
		if err := os.WriteFile(filepath.Join(dir, version), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Both versions start and serve at the same time, so that both meet the same slow moments of
	// the machine.
	deploy("1.0", map[string]string{"storefront": "20", "healthy": "20"})
	deploy("1.1", map[string]string{"storefront": "80", "healthy": "20"})
	await(t, "the clients to have started", func(context.Context) (bool, error) {
		ready, err := filepath.Glob(filepath.Join(dir, "*.ready"))
		return len(ready) == len(clients), err
	})
	begin("1.0")
	p.awaitMetric(t, 100, "otelcol_receiver_method_spans_received", "kind", "foreign")
	begin("1.1")
	for _, client := range clients {
		waitFor(t, client)
	}
	p.stop(t)

	// Seven seconds with late timers give little evidence. The threshold rule compares what the
	// clients measured, with a threshold well above what a busy machine does to one version.
	// Verdicts by evidence have their own test.
	found, err := p.command.Regress(t.Context(), "--metric", "wall", "--method", "threshold", "--threshold", "30")
	if err != nil {
		t.Fatal(err)
	}
	if found.Output.Code != harness.ExitFound || len(found.Alerts) != 1 {
		f.addf("alerts", "one method is to be raised: %s", found.Output)
		return f
	}
	a := found.Alerts[0]
	a.ChangePercent = 0
	if want := (harness.Alert{Kind: "regression", Service: "storefront", Class: "storefront/pages", Method: "render", BaseVersion: "1.0", HeadVersion: "1.1", Metric: "wall"}); a != want {
		f.addf("alerts", "the alert is %+v, want %+v", a, want)
	}
	// Timers are late on a busy machine; the clients' own clocks show the real change.
	before, after := meanWall(t, reports["storefront 1.0"], "storefront/pages.render"), meanWall(t, reports["storefront 1.1"], "storefront/pages.render")
	change, alerted := 100*(after/before-1), found.Alerts[0].ChangePercent
	t.Logf("render takes %.1f%% longer by the clients' clocks, %.1f%% by the alert", change, alerted)
	if math.Abs(math.Log((100+alerted)/(100+change))) > 0.03 {
		f.addf("change", "render takes %.1f%% longer by the clients' clocks, the alert says %.1f%%", change, alerted)
	}
	// Healthy means evaluated and not raised, not merely absent.
	judged := map[string]int{}
	for _, c := range found.Comparisons {
		for _, m := range c.Methods {
			if m.State == "regressed" || m.State == "not_proven" || m.State == "explained" {
				judged[c.Service]++
			}
			if m.ChangePercent != nil {
				t.Logf("%s %s.%s: %s, %+.1f%%", c.Service, m.Class, m.Method, m.State, *m.ChangePercent)
			}
		}
	}
	if judged["storefront"] != 3 || judged["healthy"] != 3 {
		f.addf("judged", "all 3 methods of both services are to be judged: %s", found.Output)
	}
	return f
}

// meanWall returns a method's mean wall time by the clients' own clocks.
func meanWall(t *testing.T, reports []string, method string) float64 {
	t.Helper()
	var all clientMethod
	for _, report := range reports {
		d := readClientReport(t, report)[method]
		all.Calls, all.WallNS = all.Calls+d.Calls, all.WallNS+d.WallNS
	}
	return all.WallNS / float64(all.Calls)
}
