// Package demo tells corehour's story with the real parts: a collector, a shop
// in two releases, the job. It starts them as processes of their own, watches
// the job find the bad release, and holds what was found against what the shop
// itself counted and measured.
//
// It leaves files in one directory and no process behind. It decides nothing
// itself: the alert, the costs and the ledger are the command's own output.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Settings say where the demo finds its parts and what it may use.
type Settings struct {
	Dir       string // where its files go; what an earlier run left there is removed
	Binaries  string // directory of corehour, corehour-collector and corehour-shop
	Config    string // collector configuration
	Prices    string // price book
	Out       io.Writer
	HTTP      string // addresses the collector listens on
	GRPC      string
	Rates     string
	Health    string
	Metrics   string
	Rate      float64       // requests per second of each shop instance
	Before    time.Duration // how long release 1.0 serves alone
	After     time.Duration // how long release 1.1 serves, at most
	Threshold float64       // percent, for the job
	Patience  time.Duration // how long a part may take to stop before it is killed
}

const (
	shopMethod = "shop/receipt.Printer.Join"
	lookEvery  = 5 * time.Second
	// A service that runs for minutes is given 10 minutes to warm up and slots of
	// 5 minutes.
	warmUp        = "3s"
	slot          = "5s"
	startPatience = 60 * time.Second
)

// run is one telling of the story.
type run struct {
	Settings
	begin     time.Time
	processes []*process
}

// Run tells the story. It fails if the job does not name the method that became
// slower, names one that did not, or the ledger does not balance.
func Run(ctx context.Context, s Settings) (err error) {
	r := &run{Settings: s, begin: time.Now()}
	if err := r.prepare(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stopAll()) }()

	collector, err := r.startCollector(ctx)
	if err != nil {
		return err
	}
	shops, err := r.rollOut(ctx)
	if err != nil {
		return err
	}
	r.say("stopping the shop and the collector; what they still hold is written")
	if err := r.stop(shops...); err != nil {
		return err
	}
	if err := r.stop(collector); err != nil {
		return err
	}
	return r.conclude(ctx)
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.Out, "[%3ds] %s\n", int(time.Since(r.begin).Seconds()), fmt.Sprintf(format, args...))
}

func (r *run) path(parts ...string) string {
	return filepath.Join(append([]string{r.Dir}, parts...)...)
}

// prepare checks everything that can be wrong before anything is started.
func (r *run) prepare() error {
	var faults []error
	for _, name := range []string{"corehour", "corehour-collector", "corehour-shop"} {
		if _, err := os.Stat(r.binary(name)); err != nil {
			faults = append(faults, fmt.Errorf("%s is not in %s: build it with `make build`, or say where it is with --bin", name, r.Binaries))
		}
	}
	faults = append(faults, freePort("--http", r.HTTP), freePort("--grpc", r.GRPC), freePort("--rates", r.Rates), freePort("--health", r.Health), freePort("--metrics", r.Metrics))
	if err := errors.Join(faults...); err != nil {
		return err
	}
	// Only what a demo makes is removed, should somebody point --dir elsewhere.
	for _, name := range []string{"warehouse", "truth", "logs", "alerts.jsonl", "cost.json", "ledger.json", "truth.json", "collector.yaml", "prices.yaml"} {
		if err := os.RemoveAll(r.path(name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"truth", "logs"} {
		if err := os.MkdirAll(r.path(name), 0o755); err != nil {
			return err
		}
	}
	return errors.Join(
		os.WriteFile(r.path("collector.yaml"), []byte(r.Config), 0o644),
		os.WriteFile(r.path("prices.yaml"), []byte(r.Prices), 0o644),
	)
}

func (r *run) binary(name string) string { return filepath.Join(r.Binaries, name) }

func (r *run) startCollector(ctx context.Context) (*process, error) {
	r.say("starting the collector: it listens on %s and writes to %s", r.HTTP, r.path("warehouse"))
	metricsHost, metricsPort, _ := strings.Cut(r.Metrics, ":")
	collector, err := r.start("collector", []string{
		"COREHOUR_WAREHOUSE=" + r.path("warehouse"),
		"COREHOUR_FLUSH_TIMEOUT=2s",
		"COREHOUR_PRICE_BOOK=" + r.path("prices.yaml"),
		"COREHOUR_HTTP_ENDPOINT=" + r.HTTP,
		"COREHOUR_GRPC_ENDPOINT=" + r.GRPC,
		"COREHOUR_RATES_ADDRESS=" + r.Rates,
		"COREHOUR_HEALTH_ENDPOINT=" + r.Health,
		"COREHOUR_METRICS_HOST=" + metricsHost,
		"COREHOUR_METRICS_PORT=" + metricsPort,
	}, r.binary("corehour-collector"), "--config", r.path("collector.yaml"))
	if err != nil {
		return nil, err
	}
	return collector, r.awaitHealth(ctx, collector)
}

// rollOut serves with release 1.0 and replaces it, one instance after the other,
// while the job looks every few seconds.
func (r *run) rollOut(ctx context.Context) ([]*process, error) {
	if err := r.plant(ctx); err != nil {
		return nil, err
	}
	r.say("the shop opens: 2 instances of release 1.0, %g requests/s each", r.Rate)
	first, err := r.startShop("shop-1", "1.0")
	if err != nil {
		return nil, err
	}
	second, err := r.startShop("shop-2", "1.0")
	if err != nil {
		return nil, err
	}
	if err := r.wait(ctx, r.Before, first, second); err != nil {
		return nil, err
	}

	job, err := r.start("regress", nil, r.binary("corehour"), "regress", "--warehouse", r.path("warehouse"),
		"--alerts", r.path("alerts.jsonl"), "--every", lookEvery.String(), "--threshold", fmt.Sprint(r.Threshold), "--since", "1h",
		"--warm-up", warmUp, "--slot", slot)
	if err != nil {
		return nil, err
	}
	r.say("the job looks at the warehouse every %s", lookEvery)

	r.say("release 1.1 rolls out: a linear string join became quadratic")
	third, err := r.startShop("shop-3", "1.1")
	if err != nil {
		return nil, err
	}
	if err := r.stop(first); err != nil {
		return nil, err
	}
	// Both releases serve for several slots, so that two looks find what is wrong: one
	// alone is not believed.
	if err := r.wait(ctx, r.After/2, second, third, job); err != nil {
		return nil, err
	}
	fourth, err := r.startShop("shop-4", "1.1")
	if err != nil {
		return nil, err
	}
	if err := r.stop(second); err != nil {
		return nil, err
	}
	r.say("release 1.1 runs on both instances")
	if err := r.awaitAlert(ctx, third, fourth, job); err != nil {
		return nil, err
	}
	return []*process{third, fourth}, r.stop(job)
}

func (r *run) startShop(instance, release string) (*process, error) {
	return r.start(instance, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + r.HTTP,
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=demo",
	}, r.binary("corehour-shop"), "--release", release, "--instance", instance,
		"--rate", fmt.Sprint(r.Rate), "--counts-interval", lookEvery.String(), "--truth", r.path("truth", instance+".json"))
}

// plant writes down what the new release really costs, measured by the shop
// itself, without corehour.
func (r *run) plant(ctx context.Context) error {
	out, err := r.output(ctx, r.binary("corehour-shop"), "--calibrate")
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("truth.json"), out, 0o644)
}

// awaitAlert waits until the job has written its first alert, then two looks
// more, in which false ones would show.
func (r *run) awaitAlert(ctx context.Context, alive ...*process) error {
	deadline := time.Now().Add(r.After)
	for time.Now().Before(deadline) {
		alerts, err := readAlerts(r.path("alerts.jsonl"))
		if err != nil {
			return err
		}
		if len(alerts) > 0 {
			r.say("ALERT: %s", alerts[0])
			return r.wait(ctx, 2*lookEvery, alive...)
		}
		r.say("nothing found yet")
		if err := r.wait(ctx, lookEvery, alive...); err != nil {
			return err
		}
	}
	return fmt.Errorf("the job raised no alert within %s of the roll-out: see %s", r.After, r.path("logs", "regress.log"))
}

// wait lets time pass; a process that ends meanwhile ends the demo.
func (r *run) wait(ctx context.Context, d time.Duration, alive ...*process) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		case <-tick.C:
			for _, p := range alive {
				if err := p.ended(); err != nil {
					return err
				}
			}
		}
	}
}

// alert is what the demo reads of the job's alerts.
type alert struct {
	Service       string  `json:"service"`
	Class         string  `json:"class"`
	Method        string  `json:"method"`
	BaseVersion   string  `json:"base_version"`
	HeadVersion   string  `json:"head_version"`
	Metric        string  `json:"metric"`
	ChangePercent float64 `json:"change_percent"`
	USDPerDay     float64 `json:"usd_per_day"`
}

func (a alert) name() string { return a.Class + "." + a.Method }

func (a alert) String() string {
	return fmt.Sprintf("%s became %.0f%% dearer (%s per call) from %s to %s of %s: $%.4f a day",
		a.name(), a.ChangePercent, a.Metric, a.BaseVersion, a.HeadVersion, a.Service, a.USDPerDay)
}

func readAlerts(path string) ([]alert, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var alerts []alert
	for line := range strings.Lines(string(data)) {
		if !strings.HasSuffix(line, "\n") {
			break // still being written
		}
		var a alert
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		alerts = append(alerts, a)
	}
	return alerts, nil
}
