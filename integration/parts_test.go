package integration

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/corehour/corehour/integration/groundtruth"
	"github.com/corehour/corehour/integration/harness"
)

// pipeline is a collector with a warehouse, and the command to query it.
type pipeline struct {
	*harness.Collector
	command harness.Command
}

// newPipeline writes a configuration: the harness's defaults with overrides on top.
func newPipeline(t *testing.T, overrides string) *pipeline {
	t.Helper()
	c, err := harness.NewCollector(programs.collector, t.TempDir(), "", overrides)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if p := c.Process(); t.Failed() && p != nil {
			t.Logf("the collector has ended: %s", cmp.Or(p.LastLines(40), "without a word"))
		}
	})
	return &pipeline{c, harness.Command{Binary: programs.command, Warehouse: c.Warehouse}}
}

// startPipeline creates and starts a pipeline.
func startPipeline(t *testing.T, overrides string) *pipeline {
	t.Helper()
	p := newPipeline(t, overrides)
	p.start(t)
	return p
}

// newShippedPipeline uses config/collector.yaml with only addresses and paths set, and overrides on
// top.
func newShippedPipeline(t *testing.T, overrides string) *pipeline {
	t.Helper()
	p := newPipeline(t, overrides)
	if err := p.UseConfig("../config/collector.yaml"); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pipeline) start(t *testing.T) {
	t.Helper()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// stop stops the collector, which writes all it holds first.
func (p *pipeline) stop(t *testing.T) {
	t.Helper()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
}

func (p *pipeline) metrics(t *testing.T) harness.Metrics {
	t.Helper()
	m, err := p.Scrape(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// query returns the rows of a statement.
func query[Row any](t *testing.T, p *pipeline, statement string) []Row {
	t.Helper()
	var rows []Row
	if err := p.command.SQL(t.Context(), &rows, statement); err != nil {
		t.Fatalf("%s\n%v", statement, err)
	}
	return rows
}

// newProxy puts a proxy in front of the pipeline.
func (p *pipeline) newProxy(t *testing.T, plan func(n int) harness.Fault) *harness.Proxy {
	t.Helper()
	proxy, err := harness.NewProxy(p.HTTP, plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error("the proxy:", err)
		}
	})
	return proxy
}

// load is a running workload.
type load struct {
	*harness.Process
	instance     string
	countersFile string
	reportFile   string
}

// startLoad starts a workload that sends to endpoint.
func startLoad(t *testing.T, endpoint, instance string, args ...string) *load {
	t.Helper()
	return startLoadByEnvironment(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint}, instance, args...)
}

// startLoadByEnvironment starts a workload that finds its endpoint in the environment.
func startLoadByEnvironment(t *testing.T, env []string, instance string, args ...string) *load {
	t.Helper()
	dir := t.TempDir()
	l := &load{
		instance:     instance,
		countersFile: filepath.Join(dir, "counters"),
		reportFile:   filepath.Join(dir, "report.json"),
	}
	all := append([]string{"--instance", instance, "--counters", l.countersFile, "--report", l.reportFile}, args...)
	l.Process = startProgramWith(t, env, instance, programs.workload, all...)
	return l
}

// startProgram starts a program that is killed at the end of the test.
func startProgram(t *testing.T, name, binary string, args ...string) *harness.Process {
	t.Helper()
	return startProgramWith(t, nil, name, binary, args...)
}

func startProgramWith(t *testing.T, env []string, name, binary string, args ...string) *harness.Process {
	t.Helper()
	p, err := harness.Start(name, filepath.Join(t.TempDir(), "log"), env, binary, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		if lines := p.LastLines(20); t.Failed() && lines != "" {
			t.Logf("%s: %s", name, lines)
		}
	})
	return p
}

// endPatience is the longest that a program takes to end on a busy machine.
const endPatience = 4 * time.Minute

// waitFor waits until a program has ended with exit code 0.
func waitFor(t *testing.T, p *harness.Process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), endPatience)
	defer cancel()
	if err := p.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}

// finish waits for the end of the workload and returns its record.
func (l *load) finish(t *testing.T) groundtruth.ProcessRecord {
	t.Helper()
	waitFor(t, l.Process)
	r, err := groundtruth.Read(l.reportFile)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// end stops the workload and waits for it.
func (l *load) end(t *testing.T) groundtruth.ProcessRecord {
	t.Helper()
	if err := l.Terminate(); err != nil {
		t.Fatal(err)
	}
	return l.finish(t)
}

// counters maps the workload's own counters.
func (l *load) counters(t *testing.T) *groundtruth.Counters {
	t.Helper()
	var c *groundtruth.Counters
	await(t, "the workload's counters", func(context.Context) (ok bool, err error) {
		c, err = groundtruth.Open(l.countersFile)
		return err == nil, err
	})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// awaitPatience is much longer than the minute for which an SDK retries a request of unknown
// outcome at a collector that is gone, before it uses the next collector.
const awaitPatience = 4 * time.Minute

func await(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	if err := harness.Await(t.Context(), awaitPatience, what, holds); err != nil {
		t.Fatal(err)
	}
}

// awaitMetric waits until a metric of the collector is at least least.
func (p *pipeline) awaitMetric(t *testing.T, least float64, name string, labels ...string) {
	t.Helper()
	await(t, fmt.Sprintf("%s to reach %v", name, least), func(ctx context.Context) (bool, error) {
		m, err := p.Scrape(ctx)
		return err == nil && m.Sum(name, labels...) >= least, err
	})
}
