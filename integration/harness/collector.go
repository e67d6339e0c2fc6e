package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Collector is the real binary with its own configuration. Its loopback addresses stay the same
// across restarts.
type Collector struct {
	Binary    string
	Dir       string // for configuration and log
	Warehouse string
	HTTP      string // host:port of OTLP/HTTP
	GRPC      string
	Health    string
	Metrics   string
	Rates     string   // host:port of sampling_rates
	Configs   []string // configuration files; later ones override earlier ones
	Env       []string // NAME=value

	process *Process
}

// Patience costs nothing while all goes well: a shared machine can stand still for seconds and be
// slow for minutes.
const (
	startPatience = 3 * time.Minute
	// StopPatience is the longest that a collector may take to write what it holds.
	StopPatience = 3 * time.Minute
)

// baseConfig is the whole pipeline that keeps every measurement, with one price. Its metrics have
// the documented names.
const baseConfig = `receivers:
  method_spans:
    protocols:
      grpc: {endpoint: %[1]q}
      http: {endpoint: %[2]q}
    served_rates: sampling_rates
processors:
  adaptive_sampler: {rates: sampling_rates}
  cost_attribution:
    prices: {default: {usd_per_core_hour: 0.04}}
exporters:
  warehouse:
    path: %[5]q
extensions:
  health_check: {endpoint: %[3]q}
  sampling_rates: {endpoint: %[7]q}
service:
  extensions: [health_check, sampling_rates]
  telemetry:
    logs: {level: warn, encoding: json}
    metrics:
      level: detailed
      readers:
        - pull: {exporter: {prometheus: {host: %[4]s, port: %[6]s, without_scope_info: true, without_type_suffix: true, without_units: true}}}
  pipelines:
    traces:
      receivers: [method_spans]
      processors: [adaptive_sampler, cost_attribution]
      exporters: [warehouse]
`

// NewCollector writes the configuration: the base, and on top of it overrides, a YAML text of the
// same form or "". An empty warehouse stands for a directory below dir.
func NewCollector(binary, dir, warehouse, overrides string) (*Collector, error) {
	addresses, err := FreeAddresses(5)
	if err != nil {
		return nil, err
	}
	if warehouse == "" {
		warehouse = filepath.Join(dir, "warehouse")
	}
	c := &Collector{
		Binary: binary, Dir: dir, Warehouse: warehouse,
		GRPC: addresses[0], HTTP: addresses[1], Health: addresses[2], Metrics: addresses[3], Rates: addresses[4],
	}
	host, port, err := net.SplitHostPort(c.Metrics)
	if err != nil {
		return nil, err
	}
	if err := c.addConfig("base.yaml", fmt.Sprintf(baseConfig, c.GRPC, c.HTTP, c.Health, host, warehouse, port, c.Rates)); err != nil {
		return nil, err
	}
	if overrides != "" {
		if err := c.addConfig("overrides.yaml", overrides); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// UseConfig replaces the base by a file of config/, with only addresses and paths set.
func (c *Collector) UseConfig(path string) error {
	host, port, err := net.SplitHostPort(c.Metrics)
	c.Configs[0] = path
	c.Env = []string{
		"COREHOUR_WAREHOUSE=" + c.Warehouse,
		"COREHOUR_SAMPLER_STATE=" + filepath.Join(c.Dir, "sampler.state"),
		"COREHOUR_GRPC_ENDPOINT=" + c.GRPC,
		"COREHOUR_HTTP_ENDPOINT=" + c.HTTP,
		"COREHOUR_RATES_ADDRESS=" + c.Rates,
		"COREHOUR_JAEGER_ADDRESS=localhost:0",
		"COREHOUR_HEALTH_ENDPOINT=" + c.Health,
		"COREHOUR_METRICS_HOST=" + host,
		"COREHOUR_METRICS_PORT=" + port,
	}
	return err
}

func (c *Collector) addConfig(name, text string) error {
	path := filepath.Join(c.Dir, name)
	c.Configs = append(c.Configs, path)
	return os.WriteFile(path, []byte(text), 0o644)
}

// Endpoint returns the base URL for OTLP/HTTP.
func (c *Collector) Endpoint() string { return "http://" + c.HTTP }

func (c *Collector) configArgs() []string {
	var args []string
	for _, path := range c.Configs {
		args = append(args, "--config", path)
	}
	return args
}

// Start starts the collector and waits until it is ready.
func (c *Collector) Start(ctx context.Context) error {
	if err := c.Launch(); err != nil {
		return err
	}
	return c.AwaitReady(ctx)
}

// Launch starts the process without waiting until it is ready.
func (c *Collector) Launch() (err error) {
	if c.process != nil && !c.process.Ended() {
		return errors.New("the collector runs already")
	}
	c.process, err = Start("collector", filepath.Join(c.Dir, "collector.log"), c.Env, c.Binary, c.configArgs()...)
	return err
}

// AwaitReady waits until the health check succeeds.
func (c *Collector) AwaitReady(ctx context.Context) error {
	return Await(ctx, startPatience, "the collector to be ready", func(ctx context.Context) (bool, error) {
		if c.process.Ended() {
			return false, fmt.Errorf("it ended (%s); %s", c.process.cmd.ProcessState, c.process.LastLines(20))
		}
		answer, err := get(ctx, "http://"+c.Health)
		if err != nil {
			return false, err
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK, nil
	})
}

func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
}

// Process returns the running or last process.
func (c *Collector) Process() *Process { return c.process }

// Stop sends SIGTERM and waits until the collector has written what it holds.
func (c *Collector) Stop() error { return c.process.Stop(StopPatience) }

// Kill ends the collector without a chance to write.
func (c *Collector) Kill() error { return c.process.Kill() }

// Run runs the binary with its configuration and a subcommand such as `validate` to its end.
func (c *Collector) Run(ctx context.Context, subcommand string) (Output, error) {
	return runProgram(ctx, c.Binary, append([]string{subcommand}, c.configArgs()...)...)
}

// Close kills a process that still runs.
func (c *Collector) Close() error {
	if c.process == nil {
		return nil
	}
	return c.process.Kill()
}
