package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jaegertracing/jaeger-idl/proto-gen/api_v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// required are the variables without a default, by file.
var required = map[string]map[string]string{
	"collector.yaml": nil,
	"tee.yaml":       {"COREHOUR_TEE_ENDPOINT": "traces.example:4317"},
	"bucket.yaml":    {"COREHOUR_BUCKET": "s3://my-warehouses/prod?region=eu-central-1"},
	"gateway.yaml": {
		"COREHOUR_TLS_CERT": "gateway.pem", "COREHOUR_TLS_KEY": "gateway.key", "COREHOUR_TLS_CLIENT_CA": "ca.pem",
	},
	"tokens.yaml": {
		"COREHOUR_TLS_CERT": "collector.pem", "COREHOUR_TLS_KEY": "collector.key", "COREHOUR_TOKENS": "tokens",
	},
	"agent.yaml": {
		"COREHOUR_GATEWAY": "gateway.example:4317", "COREHOUR_TLS_CERT": "agent.pem",
		"COREHOUR_TLS_KEY": "agent.key", "COREHOUR_TLS_CA": "ca.pem",
	},
}

// TestFiles_Valid lets the distribution check every key of every file, with only required variables set.
func TestFiles_Valid(t *testing.T) {
	for name := range files {
		t.Run(name, func(t *testing.T) {
			out, err := command(t, t.Context(), t.TempDir(), name, required[name], "validate").CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestDefault_Short keeps the default readable at a glance.
func TestDefault_Short(t *testing.T) {
	lines := 0
	for line := range strings.Lines(withoutComments(Collector)) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if lines >= 30 {
		t.Errorf("collector.yaml has %d lines without comments, want fewer than 30", lines)
	}
}

// TestBigQuery_OverDefault: a second file can add BigQuery, and cannot remove the first one's path.
func TestBigQuery_OverDefault(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(mine, []byte("exporters: {warehouse: {bigquery: {project: my-project, dataset: corehour}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, t.Context(), dir, "collector.yaml", map[string]string{"COREHOUR_WAREHOUSE": "/var/lib/corehour/warehouse"}, "validate")
	cmd.Args = append(cmd.Args, "--config=file:"+mine)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFiles_RequiredVariableUnset: with one of its variables unset or empty, no file is valid and no collector
// starts. The error names the variable.
func TestFiles_RequiredVariableUnset(t *testing.T) {
	for name, variables := range required {
		for missing := range variables {
			others := maps.Clone(variables)
			delete(others, missing)
			empty := maps.Clone(variables)
			empty[missing] = ""
			for what, given := range map[string]map[string]string{"not set": others, "empty": empty} {
				for _, verb := range []string{"validate", ""} {
					ctx, cancel := context.WithTimeout(t.Context(), patience) // for a collector that starts
					out, err := command(t, ctx, t.TempDir(), name, given, strings.Fields(verb)...).CombinedOutput()
					cancel()
					var status *exec.ExitError
					if !errors.As(err, &status) || !strings.Contains(string(out), "the environment variable "+missing+" must be set") {
						t.Errorf("%s with %s %s, %q: %v\n%s", name, missing, what, verb, err, out)
					}
				}
			}
		}
	}
}

// TestFiles_MisspeltKeyRefused proves that the test of valid files fails for unknown keys.
func TestFiles_MisspeltKeyRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "wrong.yaml")
	text := strings.Replace(Collector, "    path: ", "    pfad: ", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, t.Context(), dir, file, nil, "validate").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "pfad") {
		t.Errorf("want an error that names the key, got %v\n%s", err, out)
	}
}

// TestDefault_StartsAlone starts the default in an empty directory, without other files and with the price of
// its example, stores a call and ends.
func TestDefault_StartsAlone(t *testing.T) {
	c := start(t, "collector.yaml", nil, "--set=processors.cost_attribution.prices.default.usd_per_core_hour=0.05")
	if err := post("http://"+c.http+"/v1/traces", callOf("shop", "shop/cart.(*Cart).Total")); err != nil {
		t.Fatal(err)
	}
	var metrics string
	eventually(t, "the metrics show the span", func() (err error) {
		metrics, err = get("http://" + c.metric + "/metrics")
		if err == nil && !strings.Contains(metrics, "otelcol_receiver_method_spans_received{") {
			err = errors.New("no otelcol_receiver_method_spans_received")
		}
		return err
	})
	// deploy/prometheus and the documentation name metrics as they are declared.
	for line := range strings.Lines(metrics) {
		if name, _, _ := strings.Cut(line, "{"); strings.HasPrefix(name, "otelcol_") && strings.HasSuffix(name, "_total") {
			t.Errorf("the metric %s has a suffix", name)
		}
	}
	c.stop(t)
	rows := storedRows(t, filepath.Join(c.dir, "corehour-warehouse"))
	if len(rows) != 1 || rows[0] != "shop shop/cart.Cart.Total 0.05" {
		t.Errorf("stored %q, want the one call with its price", rows)
	}
}

// TestWirePage_ExampleIsStored runs the first command of the page that sends a request, against a collector with the
// default configuration.
func TestWirePage_ExampleIsStored(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	const address = "localhost:4318"
	var send string
	for line := range strings.Lines(string(page)) {
		if send == "" && strings.Contains(line, "curl ") && strings.Contains(line, address) {
			send = strings.TrimSpace(line)
		}
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	c := start(t, "collector.yaml", nil)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(send, address, c.http, 1))
	cmd.Dir = ".."
	if out, err := cmd.Output(); err != nil || string(out) != `{"partialSuccess":{}}` {
		t.Errorf("%s: %v %s", send, err, out)
	}
	c.stop(t)
	rows := storedRows(t, filepath.Join(c.dir, "corehour-warehouse")) // the collector also counts the calls of other SDKs
	slices.Sort(rows)
	if methods := slices.Compact(slices.Clone(rows)); len(methods) != 3 || len(rows) != 6 {
		t.Errorf("%s: stored %q, want a call and a count of three methods", send, rows)
	}
}

// TestShadow_CostInDollars proves that the sampler knows prices, although they are stamped after it: the cost of a
// tier in shadow is above 0.
func TestShadow_CostInDollars(t *testing.T) {
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte("default: {usd_per_core_hour: 0.05}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := start(t, "collector.yaml", map[string]string{"COREHOUR_PRICE_BOOK": prices},
		"--set=processors.adaptive_sampler.shadow=true", "--set=processors.adaptive_sampler.interval=1s")
	if err := post("http://"+c.http+"/v1/traces", timedBatchOf("shop")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the metrics show what is in shadow in dollars", func() error {
		metrics, err := get("http://" + c.metric + "/metrics")
		if err != nil {
			return err
		}
		for line := range strings.Lines(metrics) {
			const name = "otelcol_processor_adaptive_sampler_shadow_cost{"
			if value := strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]); strings.HasPrefix(line, name) && value != "0" {
				return nil
			}
		}
		return errors.New("shadow_cost is nothing, or absent")
	})
	c.stop(t)
}

// storedRows lists service, method and price of all rows of a warehouse.
func storedRows(t *testing.T, root string) []string {
	t.Helper()
	snapshot, err := table.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range snapshot.Files {
		rows, err := parquet.ReadRows(file.Path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			name := rows[i].Resource.Service + " " + rows[i].Class + "." + rows[i].Method
			if usd := rows[i].USDPerCoreHour; usd != nil {
				name += fmt.Sprint(" ", *usd)
			}
			found = append(found, name)
		}
	}
	return found
}

// example writes the YAML block of a page to a file.
func example(t *testing.T, page string) (path string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```yaml\n")
	block, _, okEnd := strings.Cut(rest, "```")
	if !ok || !okEnd {
		t.Fatalf("%s shows no configuration", page)
	}
	path = filepath.Join(t.TempDir(), "example.yaml")
	if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDefault_AnswersJaegerClients: with the default configuration a Jaeger sampler gets the same answer over gRPC
// and HTTP.
func TestDefault_AnswersJaegerClients(t *testing.T) {
	c := start(t, "collector.yaml", nil)
	conn, err := grpc.NewClient(c.jaeger, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var answer *api_v2.SamplingStrategyResponse
	eventually(t, "there are rates", func() (err error) {
		answer, err = api_v2.NewSamplingManagerClient(conn).GetSamplingStrategy(t.Context(), &api_v2.SamplingStrategyParameters{ServiceName: "shop"})
		return err
	})
	text, err := get("http://" + c.rates + "/sampling?service=shop")
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Probabilistic struct{ SamplingRate float64 } `json:"probabilisticSampling"`
	}
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		t.Fatal(err)
	}
	if rate := answer.ProbabilisticSampling.SamplingRate; rate <= 0 || rate != told.Probabilistic.SamplingRate {
		t.Errorf("over gRPC the rate is %v, over HTTP %s", rate, text)
	}
	metrics, err := get("http://" + c.metric + "/metrics")
	if err != nil || !strings.Contains(metrics, `otelcol_extension_sampling_rates_requests{endpoint="sampling",result="ok"} 2`) {
		t.Errorf("%v: both attempts must be counted:\n%s", err, metrics)
	}
}

// TestRootReadme_ValidConfiguration checks the ten lines of the README at the root, from its directory.
func TestRootReadme_ValidConfiguration(t *testing.T) {
	cmd := command(t, t.Context(), "..", example(t, filepath.Join("..", "README.md")), nil, "validate")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestReadme_ValidChange merges the example of README.md into the default.
func TestReadme_ValidChange(t *testing.T) {
	mine := example(t, "README.md")
	cmd := command(t, t.Context(), t.TempDir(), "collector.yaml", nil, "validate")
	cmd.Args = append(cmd.Args, "--config=file:"+mine)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
