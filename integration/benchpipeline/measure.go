package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is what one collector used for the spans it was sent.
type usage struct {
	cpuPerMillion float64 // seconds, from ready to ended, what it wrote at the end included
	peakBytes     int64
	bytesPerRow   float64
	stored        float64 // rows per span sent
}

// The configurations; ENDPOINT, HEALTH and WAREHOUSE are filled in.
const stockConfig = `
receivers: {otlp: {protocols: {grpc: {endpoint: "ENDPOINT"}}}}
exporters: {nop: {}}
extensions: {health_check: {endpoint: "HEALTH"}}
service:
  extensions: [health_check]
  telemetry: {metrics: {level: none}, logs: {level: warn}}
  pipelines: {traces: {receivers: [otlp], exporters: [nop]}}
`

// ourConfig is config/collector.yaml without its memory limiter, and with a price.
const ourConfig = `
receivers: {method_spans: {protocols: {grpc: {endpoint: "ENDPOINT"}}}}
processors:
  adaptive_sampler: {}
  cost_attribution: {previews: false, prices: {default: {usd_per_core_hour: 0.04}}}
exporters: {warehouse: {path: "WAREHOUSE"}}
extensions: {health_check: {endpoint: "HEALTH"}}
service:
  extensions: [health_check]
  telemetry: {metrics: {level: none}, logs: {level: warn}}
  pipelines: {traces: {receivers: [method_spans], processors: [adaptive_sampler, cost_attribution], exporters: [warehouse]}}
`

func measure(ctx context.Context, binary, which, dir string, spans, perSecond int) (usage, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usage{}, err
	}
	endpoint, health := freeAddress(), freeAddress()
	warehouse := filepath.Join(dir, "warehouse")
	config := stockConfig
	if which == "ours" {
		config = ourConfig
	}
	path := filepath.Join(dir, "collector.yaml")
	text := strings.NewReplacer("ENDPOINT", endpoint, "HEALTH", health, "WAREHOUSE", warehouse).Replace(config)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return usage{}, err
	}
	log, err := os.Create(filepath.Join(dir, "collector.log"))
	if err != nil {
		return usage{}, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, binary, "--config", path)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return usage{}, err
	}
	failed := func(err error) (usage, error) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		output, _ := os.ReadFile(log.Name())
		return usage{}, fmt.Errorf("%w; the collector's log:\n%s", err, output)
	}
	if err := awaitReady(ctx, health); err != nil {
		return failed(err)
	}
	before, err := cpuSeconds(cmd.Process.Pid)
	if err != nil {
		return failed(err)
	}
	if err := send(ctx, endpoint, spans, perSecond); err != nil {
		return failed(err)
	}
	peak, err := peakMemory(cmd.Process.Pid)
	if err != nil {
		return failed(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return failed(err)
	}
	if err := cmd.Wait(); err != nil {
		output, _ := os.ReadFile(log.Name())
		return usage{}, fmt.Errorf("the collector ended badly: %w:\n%s", err, output)
	}
	total := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	u := usage{cpuPerMillion: (total - before) / float64(spans) * 1e6, peakBytes: peak}
	if which == "ours" {
		rows, bytes, err := stored(filepath.Dir(binary), warehouse)
		if err != nil {
			return usage{}, err
		}
		u.stored, u.bytesPerRow = float64(rows)/float64(spans), float64(bytes)/float64(max(rows, 1))
	}
	return u, nil
}

// stored asks the command how many rows there are, and the disk how many bytes.
func stored(bin, warehouse string) (rows, bytes int64, err error) {
	out, err := exec.Command(filepath.Join(bin, "corehour"), "sql", "--warehouse", warehouse, "--format", "csv", "--since", "24h",
		"SELECT COUNT(*) AS n FROM method_calls").CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, out)
	}
	lines := strings.Fields(string(out))
	if len(lines) != 2 {
		return 0, 0, fmt.Errorf("corehour sql printed %q", out)
	}
	if rows, err = strconv.ParseInt(lines[1], 10, 64); err != nil {
		return 0, 0, err
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
	return rows, bytes, err
}

func awaitReady(ctx context.Context, health string) error {
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if answer, err := http.Get("http://" + health); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("the collector was not ready within 30 s")
}

// cpuSeconds reads what a running process has used, user and system.
func cpuSeconds(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ") // the name may hold spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	user, err1 := strconv.ParseFloat(fields[11], 64)
	system, err2 := strconv.ParseFloat(fields[12], 64)
	const ticksPerSecond = 100 // USER_HZ, the same on every Linux
	return (user + system) / ticksPerSecond, errors.Join(err1, err2)
}

func peakMemory(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("no VmHWM")
}

func freeAddress() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0"
	}
	defer listener.Close()
	return listener.Addr().String()
}
