// Package demo runs a complete example with the real parts: a collector, a shop in two releases, and the
// job. It starts them as separate processes, waits until the job finds the bad release, and compares the
// findings with the shop's own counts and measurements.
//
// It leaves files in one directory and no process. It decides nothing itself: the alert, the costs and the
// accounting check are the command's own output.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/background"
)

// Settings are the paths and resources of the demo.
type Settings struct {
	Dir       string // directory of its files; files of an earlier run are removed
	Binaries  string // directory of corehour, corehour-collector and corehour-shop
	Out       io.Writer
	HTTP      string // listen addresses of the collector
	GRPC      string
	Rates     string
	Health    string
	Metrics   string
	Rate      float64       // requests per second of each shop instance
	Before    time.Duration // time with release 1.0 alone
	After     time.Duration // time with both releases, in which the job must find the change
	Threshold float64       // percent, for the job
	Patience  time.Duration // time after which a part that does not stop is killed
}

const (
	shopService              = "shop"
	shopMethod               = "shop/cart.Cart.Total"
	baseVersion, headVersion = "1.0", "1.1"
	instances                = 3                // of each release
	lookEvery                = 2 * time.Second  // interval of the job's evaluations
	countsEvery              = 5 * time.Second  // interval of a shop's counts
	settle                   = 10 * time.Second // after an alert, in which false ones would appear
)

// run is one run of the demo.
type run struct {
	Settings
	begin     time.Time
	processes []*background.Process
}

// Run runs the demo. It fails if the job does not name the method that became slower, names another one, its
// 99% interval misses the true change, or the accounts do not balance.
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

// prepare checks everything that can be wrong before it starts anything.
func (r *run) prepare() error {
	var faults []error
	for _, name := range []string{"corehour", "corehour-collector", "corehour-shop"} {
		_, err := background.Binary(r.Binaries, name)
		faults = append(faults, err)
	}
	faults = append(faults, freePort("--http", r.HTTP), freePort("--grpc", r.GRPC), freePort("--rates", r.Rates), freePort("--health", r.Health), freePort("--metrics", r.Metrics))
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if err := r.claim(); err != nil {
		return err
	}
	for _, name := range []string{"warehouse", "truth", "logs", "alerts.jsonl", "cost.json", "ledger.json", "truth.json", "collector.yaml", "prices.yaml", "sampler.state"} {
		if err := os.RemoveAll(r.path(name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"truth", "logs"} {
		if err := os.MkdirAll(r.path(name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// marker is the file that identifies a directory of the demo.
const marker = ".corehour-demo"

// claim takes the directory for the demo. A non-empty directory without the marker belongs to somebody else:
// the demo refuses to replace its files.
func (r *run) claim() error {
	entries, err := os.ReadDir(r.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--dir: %w", err)
	}
	own := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == marker })
	if len(entries) > 0 && !own {
		return fmt.Errorf("--dir: want an empty directory or one of an earlier demo (it holds %s), found %s with %q in it: name another one, or remove it",
			marker, r.Dir, entries[0].Name())
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	return os.WriteFile(r.path(marker), []byte("corehour demo replaces the files in this directory\n"), 0o644)
}

func (r *run) binary(name string) string { return filepath.Join(r.Binaries, name) }

func (r *run) startCollector(ctx context.Context) (*background.Process, error) {
	r.say("starting the collector: it listens on %s and writes to %s", r.HTTP, r.path("warehouse"))
	collector, err := background.Collector{
		Binary: r.binary("corehour-collector"), Dir: r.Dir, Log: r.path("logs", "collector.log"), LogLevel: "info", Warehouse: r.path("warehouse"),
		HTTP: r.HTTP, GRPC: r.GRPC, Rates: r.Rates, Health: r.Health, Metrics: r.Metrics,
	}.Start(ctx)
	return r.started(collector, err)
}

// rollOut serves with release 1.0, adds as many instances of release 1.1, and waits for the job's alert.
func (r *run) rollOut(ctx context.Context) ([]*background.Process, error) {
	if err := r.plant(ctx); err != nil {
		return nil, err
	}
	r.say("the shop opens: %d instances of release %s, %g requests/s each", instances, baseVersion, r.Rate)
	shops, err := r.startShops(nil, baseVersion)
	if err != nil {
		return nil, err
	}
	if err := r.wait(ctx, r.Before, shops...); err != nil {
		return nil, err
	}

	job, err := r.start("regress", nil, r.binary("corehour"), "regress", "--warehouse", r.path("warehouse"),
		"--alerts", r.path("alerts.jsonl"), "--every", lookEvery.String(), "--threshold", fmt.Sprint(r.Threshold))
	if err != nil {
		return nil, err
	}
	job.MayFind = true
	r.say("the job evaluates the warehouse every %s", lookEvery)

	r.say("release %s rolls out to %d more instances: five methods work for every checkout, and one of them became slower", headVersion, instances)
	if shops, err = r.startShops(shops, headVersion); err != nil {
		return nil, err
	}
	if err := r.awaitAlert(ctx, append(shops, job)...); err != nil {
		return nil, err
	}
	return shops, r.stop(job)
}

func (r *run) startShops(shops []*background.Process, release string) ([]*background.Process, error) {
	for range instances {
		shop, err := r.startShop(fmt.Sprintf("shop-%d", len(shops)+1), release)
		if err != nil {
			return nil, err
		}
		shops = append(shops, shop)
	}
	return shops, nil
}

func (r *run) startShop(instance, release string) (*background.Process, error) {
	return r.start(instance, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + r.HTTP,
		"OTEL_SERVICE_NAME=" + shopService,
		fmt.Sprintf("OTEL_RESOURCE_ATTRIBUTES=service.version=%s,service.instance.id=%s,deployment.environment.name=demo", release, instance),
		"COREHOUR_INTERVAL=" + countsEvery.String(),
	}, r.binary("corehour-shop"), "--release", release, "--rate", fmt.Sprint(r.Rate), "--truth", r.path("truth", instance+".json"))
}

// plant records the true cost of the new release, measured by the shop itself without corehour.
func (r *run) plant(ctx context.Context) error {
	out, err := r.output(ctx, r.binary("corehour-shop"), "--calibrate")
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("truth.json"), out, 0o644)
}

// awaitAlert prints the job's first alert as soon as it is written, then waits for further evaluations, in
// which false ones would appear.
func (r *run) awaitAlert(ctx context.Context, alive ...*background.Process) error {
	begin := time.Now()
	for time.Since(begin) < r.After {
		alerts, err := readAlerts(r.path("alerts.jsonl"))
		if err != nil {
			return err
		}
		if len(alerts) > 0 {
			r.say("%s", alerts[0])
			r.say("raised %s after the roll-out began%s", alerts[0].RaisedAt.Sub(begin).Round(time.Second), alerts[0].late())
			return r.wait(ctx, settle, alive...)
		}
		if err := r.wait(ctx, 200*time.Millisecond, alive...); err != nil {
			return err
		}
	}
	return fmt.Errorf("the job raised no alert within %s of the roll-out: see %s", r.After, r.path("logs", "regress.log"))
}

// wait lets time pass; a process that ends meanwhile ends the demo.
func (r *run) wait(ctx context.Context, d time.Duration, alive ...*background.Process) error {
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
				if err := p.Ended(); err != nil {
					return err
				}
			}
		}
	}
}

// alert holds the fields of the job's alerts that the demo reads.
type alert struct {
	Service       string  `json:"service"`
	Class         string  `json:"class"`
	Method        string  `json:"method"`
	BaseVersion   string  `json:"base_version"`
	HeadVersion   string  `json:"head_version"`
	Metric        string  `json:"metric"`
	Basis         string  `json:"basis"`
	ChangePercent float64 `json:"change_percent"`
	// Interval holds the change with 95% confidence: low, high.
	Interval      [2]float64 `json:"interval"`
	USDPerDay     float64    `json:"usd_per_day"`
	KnowableSince *time.Time `json:"knowable_since"`
	RaisedAt      time.Time  `json:"raised_at"`
}

// late returns the delay of the alert after the earliest possible time.
func (a alert) late() string {
	if a.KnowableSince == nil {
		return ""
	}
	return fmt.Sprintf(", %s after the evidence sufficed", a.RaisedAt.Sub(*a.KnowableSince).Round(time.Second))
}

func (a alert) name() string { return a.Class + "." + a.Method }

func (a alert) String() string {
	return fmt.Sprintf("REGRESSED %s (%s %s -> %s): %+.0f%% %s per call, +$%.4f/day, 95%% %+.0f%% to %+.0f%%",
		a.name(), a.Service, a.BaseVersion, a.HeadVersion, a.ChangePercent, a.Metric, a.USDPerDay, a.Interval[0], a.Interval[1])
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
