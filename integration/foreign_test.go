package integration

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/corehour/corehour/integration/harness"
)

// foreignRow is a method of a foreign client as stored in the warehouse.
type foreignRow struct {
	Method   string   `json:"name"`
	Caller   *string  `json:"caller"`
	Basis    string   `json:"weight_basis"`
	Version  *string  `json:"version"`
	CPUState string   `json:"cpu_state"`
	Rows     int64    `json:"row_count"`
	Calls    float64  `json:"calls"`
	WallNS   float64  `json:"wall_ns"`
	CPU      *float64 `json:"cpu_ns"`
	P        float64  `json:"p"`
}

func foreignRows(t *testing.T, p *pipeline, service string) []foreignRow {
	t.Helper()
	requireSoundRows(t, p)
	return query[foreignRow](t, p, `SELECT class || '.' || method AS name, caller, weight_basis, version, cpu_state,
		COUNT(*) FILTER (WHERE kind = 'call') AS row_count, SUM(calls) AS calls, SUM(wall_ns) AS wall_ns, SUM(cpu_ns) AS cpu_ns, COALESCE(MAX(p) FILTER (WHERE kind = 'call'), 0) AS p
		FROM method_calls WHERE service = '`+service+`' AND kind IN ('call', 'counts') GROUP BY ALL ORDER BY ALL`)
}

// clientMethod is a client's own record of one method, with its time read inside of the spans and
// around them.
type clientMethod struct {
	Calls       int64   `json:"calls"`
	WallNS      float64 `json:"wall_ns"`
	OuterWallNS float64 `json:"outer_wall_ns"`
}

func readClientReport(t *testing.T, path string) map[string]clientMethod {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]clientMethod
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return d
}

// requireForeign asserts that the rows match the client's own record: name, number of calls,
// duration, and the caller. The caller is empty where its span came in another request.
func requireForeign(t *testing.T, rows []foreignRow, want map[string]clientMethod, callers map[string]string) {
	t.Helper()
	type sums struct{ rows, calls, wall, known float64 }
	got := map[string]*sums{}
	for _, r := range rows {
		if got[r.Method] == nil {
			got[r.Method] = &sums{}
		}
		s := got[r.Method]
		s.rows, s.calls, s.wall = s.rows+float64(r.Rows), s.calls+r.Calls, s.wall+r.WallNS
		if r.Caller != nil {
			s.known += float64(r.Rows)
			if *r.Caller != callers[r.Method] {
				t.Errorf("%s: caller %q, it is called by %q only", r.Method, *r.Caller, callers[r.Method])
			}
		}
		if r.CPU != nil || r.CPUState != "unavailable" {
			t.Errorf("%s: CPU time %v, state %q: a foreign client measures none", r.Method, r.CPU, r.CPUState)
		}
		if r.Version == nil || *r.Version != "1.0" {
			t.Errorf("%s: version %v", r.Method, r.Version)
		}
	}
	for method, d := range want {
		s := got[method]
		if s == nil {
			t.Errorf("%s: no rows; stored are %v", method, rows)
			continue
		}
		if s.rows != float64(d.Calls) || s.calls != float64(d.Calls) {
			t.Errorf("%s: the client made %d calls, stored are %v rows that stand for %v", method, d.Calls, s.rows, s.calls)
		}
		if s.wall < d.WallNS || s.wall > d.OuterWallNS {
			t.Errorf("%s: wall time %.3f ms, the client measured %.3f ms to %.3f ms", method, s.wall/1e6, d.WallNS/1e6, d.OuterWallNS/1e6)
		}
		if s.known < 0.5*s.rows {
			t.Errorf("%s: the caller is known of %v rows of %v", method, s.known, s.rows)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d methods are stored, the client has %d: %v", len(got), len(want), rows)
	}
}

// TestNodeClient_BothProtocols sends from a Node.js program with the stock OpenTelemetry SDK.
func TestNodeClient_BothProtocols(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	t.Parallel()
	p := startPipeline(t, quickWarehouse)
	reports := map[string]string{}
	var clients []*harness.Process
	for protocol, endpoint := range map[string]string{"http": "http://" + p.HTTP, "grpc": "http://" + p.GRPC} {
		service := "storefront-" + protocol
		reports[service] = filepath.Join(t.TempDir(), "did.json")
		clients = append(clients, startProgram(t, service, programs.node, programs.nodeClient, "--protocol", protocol,
			"--endpoint", endpoint, "--service", service, "--requests", "80", "--report", reports[service]))
	}
	for _, client := range clients {
		waitFor(t, client)
	}
	p.stop(t)
	for service, report := range reports {
		requireForeign(t, foreignRows(t, p, service), readClientReport(t, report), map[string]string{
			"storefront/server.Server.serve": "(entry)",
			"storefront/store.Store.load":    "storefront/server.Server.serve",
			"storefront/pages.render":        "storefront/server.Server.serve",
		})
	}
}

// TestNodeClient_ConsistentSampling proves that the rate in the trace state of a stock SDK is
// composed with the collector's own rate: the lower rate is the joint one, and the estimated calls
// are right.
func TestNodeClient_ConsistentSampling(t *testing.T) {
	t.Parallel()
	const head, requests = 0.25, 4000
	for _, c := range []struct {
		name, config string
		p            float64
	}{
		{"kept by the collector", "", head},
		{"thinned by the collector", `processors: {adaptive_sampler: {default_rate: 0.125}}`, 0.125},
		{"not thinned again", `processors: {adaptive_sampler: {default_rate: 0.5}}`, head},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := startPipeline(t, c.config)
			report := filepath.Join(t.TempDir(), "did.json")
			waitFor(t, startProgram(t, "node", programs.node, programs.nodeClient, "--endpoint", p.Endpoint(),
				"--ratio", fmt.Sprint(head), "--requests", fmt.Sprint(requests), "--load-ms", "0", "--render-ms", "0", "--report", report))
			p.stop(t)
			rows := foreignRows(t, p, "storefront")
			for _, r := range rows {
				if r.Basis != "threshold" || r.Rows > 0 && math.Abs(r.P-c.p) > 1e-6 {
					t.Errorf("%s: p = %v by %q, it should be %v by threshold", r.Method, r.P, r.Basis, c.p)
				}
			}
			requireEstimates(t, rows, readClientReport(t, report), requests, head) // counted before the collector thins
		})
	}
}

// requireEstimates asserts that the estimated calls of a sampled client are within the error of a
// draw with probability p.
func requireEstimates(t *testing.T, rows []foreignRow, want map[string]clientMethod, calls int64, p float64) {
	t.Helper()
	estimates := map[string]float64{}
	for _, r := range rows {
		estimates[r.Method] += r.Calls
	}
	allowed := 5 * math.Sqrt(float64(calls)*(1-p)/p) // five standard errors
	for method, d := range want {
		t.Logf("%s: %d calls made, estimated %.0f", method, d.Calls, estimates[method])
		if d.Calls != calls || math.Abs(estimates[method]-float64(calls)) > allowed {
			t.Errorf("%s: the client made %d calls, estimated are %.0f, allowed is a deviation of %.0f", method, d.Calls, estimates[method], allowed)
		}
	}
	if len(estimates) != len(want) {
		t.Errorf("%d methods are stored, the client has %d", len(estimates), len(want))
	}
}

// TestGoClient_BothProtocols sends from the OpenTelemetry SDK for Go. A head sampler's ratio gives
// right estimates of calls, both when it is configured and when the trace ids show it.
func TestGoClient_BothProtocols(t *testing.T) {
	t.Parallel()
	const ratio, orders = 0.25, 3000
	p := startPipeline(t, quickWarehouse+`
receivers: {method_spans: {assumed_rates: {billing-sampled: 0.25}}}
`)
	reports := map[string]string{}
	for _, c := range []struct{ service, protocol, endpoint, ratio, orders string }{
		{"billing-http", "http", p.HTTP, "1", "500"},
		{"billing-grpc", "grpc", p.GRPC, "1", "500"},
		{"billing-sampled", "grpc", p.GRPC, fmt.Sprint(ratio), fmt.Sprint(orders)},
		{"billing-unsaid", "http", p.HTTP, fmt.Sprint(ratio), fmt.Sprint(orders)},
	} {
		reports[c.service] = filepath.Join(t.TempDir(), "did.json")
		waitFor(t, startProgram(t, c.service, programs.gotel, "--protocol", c.protocol, "--endpoint", c.endpoint,
			"--service", c.service, "--ratio", c.ratio, "--orders", c.orders, "--report", reports[c.service]))
	}
	p.stop(t)

	for _, service := range []string{"billing-http", "billing-grpc"} {
		requireForeign(t, foreignRows(t, p, service), readClientReport(t, reports[service]), map[string]string{
			"billing/orders.Handler.Handle": "(entry)",
			"billing/orders.total":          "billing/orders.Handler.Handle",
		})
	}
	sampled := foreignRows(t, p, "billing-sampled")
	for _, r := range sampled {
		if r.Basis != "configured" || r.Rows > 0 && r.P != ratio {
			t.Errorf("%s: p = %v by %q, the receiver is configured to assume %v", r.Method, r.P, r.Basis, ratio)
		}
	}
	requireEstimates(t, sampled, readClientReport(t, reports["billing-sampled"]), orders, ratio)
	unsaid := foreignRows(t, p, "billing-unsaid")
	for _, r := range unsaid {
		if r.Basis != "estimated" || r.Rows > 0 && math.Abs(r.P/ratio-1) > 0.05 {
			t.Errorf("%s: p = %v by %q, the trace ids show %v", r.Method, r.P, r.Basis, ratio)
		}
	}
	requireEstimates(t, unsaid, readClientReport(t, reports["billing-unsaid"]), orders, ratio)
}

// The collector keeps a part of the spans of an SDK, and cost prints all its calls: exactly where the SDK is known to
// sample nothing, as a lower bound where nothing states it, and with an interval where it samples.
func TestGoClient_CallsAboveBudgetAreCounted(t *testing.T) {
	t.Parallel()
	const orders = 6000 // above the budget of two intervals, wherever they are cut
	p := newShippedPipeline(t, quickWarehouse+`
receivers: {method_spans: {assumed_rates: {billing-all: 1, billing-quarter: 0.25}}}
`)
	p.start(t)
	reports := map[string]string{}
	for service, ratio := range map[string]string{"billing-all": "1", "billing-unsaid": "1", "billing-quarter": "0.25"} {
		reports[service] = filepath.Join(t.TempDir(), "did.json")
		waitFor(t, startProgram(t, service, programs.gotel, "--protocol", "http", "--endpoint", p.HTTP, "--service", service,
			"--ratio", ratio, "--orders", fmt.Sprint(orders), "--report", reports[service]))
	}
	p.stop(t)
	for service, report := range reports {
		stored := int64(0)
		for _, r := range foreignRows(t, p, service) {
			stored += r.Rows
		}
		want := readClientReport(t, report)
		if sent := int64(orders * len(want)); service != "billing-quarter" && stored > sent*9/10 {
			t.Errorf("%s: %d of %d spans are stored: the test shows nothing", service, stored, sent)
		}
		out, err := p.command.Run(t.Context(), "cost", "--wide", "--service", service)
		if err != nil {
			t.Fatal(err)
		}
		printed := string(out.Stdout)
		for method, d := range want {
			figure := regexp.MustCompile(regexp.QuoteMeta(method) + ` .*?  (>= \d+|~\d+ ±\d+|\d+)  `).FindStringSubmatch(printed)
			if figure == nil {
				t.Errorf("%s: no calls of %s in\n%s", service, method, printed)
				continue
			}
			account, err := p.command.Run(t.Context(), "explain", "--service", service, method)
			if err != nil || !regexp.MustCompile(`  `+figure[1]+`  `).Match(account.Stdout) {
				t.Errorf("%s of %s: cost prints %s calls, explain %v\n%s", method, service, figure[1], err, account.Stdout)
			}
			var calls, margin float64
			switch exact := fmt.Sprint(d.Calls); service {
			case "billing-all":
				if figure[1] != exact {
					t.Errorf("%s of %s: printed are %s calls, made are %s", method, service, figure[1], exact)
				}
			case "billing-unsaid":
				if figure[1] != ">= "+exact {
					t.Errorf("%s of %s: printed are %s calls, made are %s", method, service, figure[1], exact)
				}
			default:
				// The true margin follows from the design: 1.96 standard errors of a draw with p = 0.25.
				design := 1.96 * math.Sqrt(float64(d.Calls)*3)
				if _, err := fmt.Sscanf(figure[1], "~%f ±%f", &calls, &margin); err != nil || math.Abs(calls-float64(d.Calls)) > 2.5*design || math.Abs(margin/design-1) > 0.25 {
					t.Errorf("%s of %s: printed are %s calls, made are %s ±%.0f: %v", method, service, figure[1], exact, design, err)
				}
			}
		}
	}
}

// TestTelemetrygen_SpansBecomeRows sends spans of the collector's own load generator, which have
// only a name and a scope.
func TestTelemetrygen_SpansBecomeRows(t *testing.T) {
	t.Parallel()
	p := startPipeline(t, quickWarehouse)
	for _, args := range [][]string{
		{"--service", "generated-grpc", "--otlp-endpoint", p.GRPC},
		{"--service", "generated-http", "--otlp-endpoint", p.HTTP, "--otlp-http"},
	} {
		waitFor(t, startProgram(t, args[1], programs.telemetrygen, append([]string{"traces", "--otlp-insecure",
			"--traces", "200", "--rate", "0", "--child-spans", "2", "--span-duration", "7ms",
			"--otlp-attributes", `service.version="1.0"`}, args...)...))
	}
	p.stop(t)
	for _, service := range []string{"generated-grpc", "generated-http"} {
		const duration = 7e6
		requireForeign(t, foreignRows(t, p, service), map[string]clientMethod{
			"telemetrygen.lets-go":      {200, 200 * 2 * duration, 200 * 2 * duration}, // as long as the children
			"telemetrygen.okey-dokey-0": {200, 200 * duration, 200 * duration},
			"telemetrygen.okey-dokey-1": {200, 200 * duration, 200 * duration},
		}, map[string]string{
			"telemetrygen.lets-go":      "(entry)",
			"telemetrygen.okey-dokey-0": "telemetrygen.lets-go",
			"telemetrygen.okey-dokey-1": "telemetrygen.lets-go",
		})
	}
}
