package background

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/config"
)

// Collector is a collector with the default configuration and example prices. Its limits are high
// enough to keep every record, so that minutes show as much as a day of a normal service.
type Collector struct {
	Binary    string
	Dir       string // for its configuration, prices and state
	Log       string // file
	LogLevel  string // as of COREHOUR_LOG_LEVEL
	Warehouse string // directory
	HTTP      string // addresses it listens on
	GRPC      string
	Rates     string
	Health    string
	Metrics   string
}

const startPatience = 60 * time.Second

// Start starts the collector and waits until it is ready. If it returns an error, nothing is
// running.
func (c Collector) Start(ctx context.Context) (*Process, error) {
	configuration, prices := filepath.Join(c.Dir, "collector.yaml"), filepath.Join(c.Dir, "prices.yaml")
	if err := errors.Join(
		os.WriteFile(configuration, []byte(config.Collector), 0o644),
		os.WriteFile(prices, []byte(config.Prices), 0o644),
	); err != nil {
		return nil, err
	}
	metricsHost, metricsPort, err := net.SplitHostPort(c.Metrics)
	if err != nil {
		return nil, err
	}
	p, err := Start("collector", c.Log, []string{
		"COREHOUR_WAREHOUSE=" + c.Warehouse,
		"COREHOUR_FLUSH_TIMEOUT=2s",
		"COREHOUR_LOG_LEVEL=" + c.LogLevel,
		"COREHOUR_PRICE_BOOK=" + prices,
		"COREHOUR_RECORDS=1e6", "COREHOUR_RECORDS_TOTAL=1e7",
		"COREHOUR_SAMPLER_STATE=" + filepath.Join(c.Dir, "sampler.state"),
		"COREHOUR_HTTP_ENDPOINT=" + c.HTTP,
		"COREHOUR_GRPC_ENDPOINT=" + c.GRPC,
		"COREHOUR_RATES_ADDRESS=" + c.Rates,
		"COREHOUR_JAEGER_ADDRESS=localhost:0", // nobody asks there
		"COREHOUR_HEALTH_ENDPOINT=" + c.Health,
		"COREHOUR_METRICS_HOST=" + metricsHost,
		"COREHOUR_METRICS_PORT=" + metricsPort,
	}, c.Binary, "--config", configuration)
	if err != nil {
		return nil, err
	}
	if err := c.awaitHealth(ctx, p); err != nil {
		if p.Running() {
			err = errors.Join(err, Stop(startPatience, p))
		}
		return nil, err
	}
	return p, nil
}

func (c Collector) awaitHealth(ctx context.Context, p *Process) error {
	deadline := time.NewTimer(startPatience)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.done:
			return p.Ended()
		case <-deadline.C:
			return fmt.Errorf("the collector was not ready within %s: see %s", startPatience, p.Log)
		case <-tick.C:
		}
		answer, err := http.Get("http://" + c.Health)
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
	}
}
