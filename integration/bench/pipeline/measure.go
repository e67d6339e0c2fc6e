package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// usage is the CPU and memory that one collector used for its spans.
type usage struct {
	cpuPerMillion float64 // seconds, from ready to ended, including the final write
	peakBytes     int64
	bytesPerRow   float64
	stored        float64 // rows per span sent
}

// The configurations have placeholders ENDPOINT, HEALTH and WAREHOUSE.
const stockConfig = `
receivers: {otlp: {protocols: {grpc: {endpoint: "ENDPOINT"}}}}
exporters: {nop: {}}
extensions: {health_check: {endpoint: "HEALTH"}}
service:
  extensions: [health_check]
  telemetry: {metrics: {level: none}, logs: {level: warn}}
  pipelines: {traces: {receivers: [otlp], exporters: [nop]}}
`

// ourConfig is config/collector.yaml without its memory limiter and with a price.
const ourConfig = `
receivers: {method_spans: {protocols: {grpc: {endpoint: "ENDPOINT"}}}}
processors:
  adaptive_sampler: {}
  cost_attribution: {prices: {default: {usd_per_core_hour: 0.04}}}
exporters: {warehouse: {path: "WAREHOUSE"}}
extensions: {health_check: {endpoint: "HEALTH"}}
service:
  extensions: [health_check]
  telemetry: {metrics: {level: none}, logs: {level: warn}}
  pipelines: {traces: {receivers: [method_spans], processors: [adaptive_sampler, cost_attribution], exporters: [warehouse]}}
`

// withoutPreviews is our configuration without previews and metrics of dollars.
const withoutPreviews = "no previews"

// either is our configuration, for collectors of which only the CPU matters.
const either = "either"

func measure(ctx context.Context, binary, which, dir string, spans, perSecond int, foreign bool) (usage, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usage{}, err
	}
	addresses, err := harness.FreeAddresses(2)
	if err != nil {
		return usage{}, err
	}
	endpoint, health := addresses[0], addresses[1]
	warehouse := filepath.Join(dir, "warehouse")
	config := stockConfig
	switch which {
	case "ours", either:
		config = ourConfig
	case withoutPreviews:
		config = strings.Replace(ourConfig, "cost_attribution: {", "cost_attribution: {previews: false, ", 1)
	}
	path := filepath.Join(dir, "collector.yaml")
	text := strings.NewReplacer("ENDPOINT", endpoint, "HEALTH", health, "WAREHOUSE", warehouse).Replace(config)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return usage{}, err
	}
	collector, err := harness.Start(which, filepath.Join(dir, "collector.log"), nil, binary, "--config", path)
	if err != nil {
		return usage{}, err
	}
	u, err := load(ctx, collector, endpoint, health, spans, perSecond, foreign)
	if err != nil {
		return usage{}, errors.Join(err, errors.New(collector.LastLines(20)), collector.Kill())
	}
	if which == "ours" {
		rows, bytes, err := stored(ctx, filepath.Dir(binary), warehouse)
		if err != nil {
			return usage{}, err
		}
		u.stored, u.bytesPerRow = float64(rows)/float64(spans), float64(bytes)/float64(max(rows, 1))
	}
	return u, nil
}

// load sends the spans, stops the collector and returns its usage.
func load(ctx context.Context, collector *harness.Process, endpoint, health string, spans, perSecond int, foreign bool) (usage, error) {
	err := harness.Await(ctx, 3*time.Minute, "the collector is ready", func(context.Context) (bool, error) {
		answer, err := http.Get("http://" + health)
		if err != nil {
			return false, nil
		}
		return answer.StatusCode == http.StatusOK, answer.Body.Close()
	})
	if err != nil {
		return usage{}, err
	}
	before, err := harness.CPUOf(collector.Pid())
	if err != nil {
		return usage{}, err
	}
	if err := send(ctx, endpoint, spans, perSecond, foreign); err != nil {
		return usage{}, err
	}
	peak, err := harness.PeakMemoryOf(collector.Pid())
	if err != nil {
		return usage{}, err
	}
	if err := collector.Stop(harness.StopPatience); err != nil {
		return usage{}, err
	}
	return usage{cpuPerMillion: (collector.CPU() - before).Seconds() / float64(spans) * 1e6, peakBytes: peak}, nil
}

// stored returns the number of rows and of bytes in the warehouse.
func stored(ctx context.Context, bin, warehouse string) (rows, bytes int64, err error) {
	var counted []struct{ N int64 }
	command := harness.Command{Binary: filepath.Join(bin, harness.CommandBinary), Warehouse: warehouse}
	if err := command.SQL(ctx, &counted, "SELECT COUNT(*) AS n FROM method_calls"); err != nil {
		return 0, 0, err
	}
	if len(counted) != 1 {
		return 0, 0, fmt.Errorf("a count of rows has %d rows", len(counted))
	}
	err = filepath.WalkDir(warehouse, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".parquet") {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return counted[0].N, bytes, err
}
