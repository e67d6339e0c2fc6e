package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// servedMethods are the collector's rates. Only the rate of the root decides.
const servedMethods = `{"version": 1, "defaults": {"rate": 0.5}, "methods": [
	{"class": "billing/orders.Handler", "method": "*", "rate": 0.25},
	{"class": "storefront/server.Server", "method": "*", "rate": 0.25}]}`

// TestServedRates_StockSDKsFollow proves that programs with the stock SDKs of Go and Node.js, whose
// samplers ask by Jaeger's protocol, sample at this collector's rates, that their rows have that
// probability with basis "served", and that the estimated calls are right.
func TestServedRates_StockSDKsFollow(t *testing.T) {
	t.Parallel()
	const rate, calls = 0.25, 4000
	file := filepath.Join(t.TempDir(), "methods.json")
	if err := os.WriteFile(file, []byte(servedMethods), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, service, operation string
		command                  func(p *pipeline, rates string) []string
	}{
		{"Go", "billing", "POST /orders", func(p *pipeline, rates string) []string {
			return []string{programs.gotel, "--endpoint", p.GRPC, "--rates", rates + "/sampling", "--orders"}
		}},
		{"Node.js", "storefront", "GET /page", func(p *pipeline, rates string) []string {
			return []string{programs.node, programs.nodeClient, "--endpoint", p.Endpoint(), "--rates", rates, "--load-ms", "0", "--render-ms", "0", "--requests"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := startPipeline(t, quickWarehouse+fmt.Sprintf("\nprocessors: {adaptive_sampler: {methods_file: %q, interval: 1s}}\n", file))
			run := func(version string, calls int) map[string]clientMethod {
				report := filepath.Join(t.TempDir(), "did.json")
				args := append(c.command(p, "http://"+p.Rates), fmt.Sprint(calls), "--service", c.service, "--version", version, "--report", report)
				waitFor(t, startProgram(t, c.service, args[0], args[1:]...))
				return readClientReport(t, report)
			}
			// The collector serves rates only for operations that it has received.
			run("0.9", 200)
			await(t, c.operation+" to have a rate", func(ctx context.Context) (bool, error) {
				byName, err := p.Strategies(ctx, c.service)
				if err == nil && byName[c.operation] != rate {
					err = fmt.Errorf("the strategies are %v", byName)
				}
				return err == nil, err
			})
			want := run("1.0", calls)
			p.stop(t)

			var rows []foreignRow
			basis := map[string]int64{}
			for _, r := range foreignRows(t, p, c.service) {
				if *r.Version != "1.0" {
					continue
				}
				rows = append(rows, r)
				basis[r.Basis] += r.Rows
				if r.Basis == "served" && r.Rows > 0 && r.P != rate {
					t.Errorf("%s: p = %v by what was served, that was %v", r.Method, r.P, rate)
				}
			}
			t.Logf("rows by what tells their probability: %v", basis)
			// A root that ends after its request was cut leaves spans of unknown probability.
			if basis["served"] < 20*(basis["assumed"]+basis["threshold"]) || basis["served"] < calls/4 {
				t.Errorf("rows by what tells their probability: %v", basis)
			}
			requireEstimates(t, rows, want, calls, rate)
		})
	}
}
