package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/corehour/corehour/integration/groundtruth"
	"github.com/corehour/corehour/integration/harness"
)

// askingForRates returns the environment of a service that asks this collector for rates.
func (p *pipeline) askingForRates() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + p.Endpoint(), "COREHOUR_RATES_ENDPOINT=http://" + p.Rates}
}

// busyAndRare starts a service with one method called as often as the machine can, and one called
// ten times a second. Both begin with the rate of an unknown method.
func busyAndRare(t *testing.T, env []string, instance string, args ...string) *load {
	t.Helper()
	return startLoadByEnvironment(t, env, instance, append([]string{"--methods", "2", "--goroutines", "1", "--rare", "100ms",
		"--rate", "0.01", "--cpu-rate", "0.05", "--flush", "100ms"}, args...)...)
}

var busy, rare = groundtruth.Name(0), groundtruth.Name(1)

// explained is the output of `corehour explain` for a method.
type explained struct {
	State          string   `json:"state"`
	CallsPerSecond float64  `json:"calls_per_second"`
	RateAsked      float64  `json:"rate_asked"`
	RateInForce    *float64 `json:"rate_in_force"`
	Rule           string   `json:"rule"`
}

func explain(ctx context.Context, p *pipeline, service, method string) (*explained, error) {
	o, err := p.command.Explain(ctx, "http://"+p.Rates, service, method)
	if err != nil {
		return nil, err
	}
	if o.Code != harness.ExitNothing {
		return nil, fmt.Errorf("%s", o)
	}
	var answer struct {
		Explanations []explained `json:"explanations"`
	}
	if err := json.Unmarshal(o.Stdout, &answer); err != nil {
		return nil, fmt.Errorf("%w: %s", err, o)
	}
	if n := len(answer.Explanations); n != 1 {
		return nil, fmt.Errorf("%d explanations: %s", n, o)
	}
	return &answer.Explanations[0], nil
}

// awaitRate waits until a method's records arrive with a probability between low and high: its SDK
// then applies the rate.
func (p *pipeline) awaitRate(t *testing.T, service, method string, low, high float64) *explained {
	t.Helper()
	var last *explained
	await(t, fmt.Sprintf("%s to be sampled at %g to %g", method, low, high), func(ctx context.Context) (bool, error) {
		now, err := explain(ctx, p, service, method)
		switch {
		case ctx.Err() != nil && last != nil: // the test's patience ended the command
		case err != nil:
			return false, err
		default:
			last = now
		}
		if last.RateInForce == nil || *last.RateInForce < low || *last.RateInForce > high {
			data, _ := json.Marshal(last)
			return false, fmt.Errorf("it is %s", data)
		}
		return true, nil
	})
	return last
}

// perSecond is the load of a workload and the number of records that arrive from it, per second.
type perSecond struct{ busy, rare, records float64 }

func observe(t *testing.T, p *pipeline, counters *groundtruth.Counters, over time.Duration) perSecond {
	t.Helper()
	read := func() (all perSecond) {
		m := counters.Methods()
		received := p.metrics(t).Sum("otelcol_receiver_method_spans_received", "kind", "call")
		return perSecond{float64(m[0].Calls), float64(m[1].Calls), received}
	}
	begin, before := time.Now(), read()
	timer := time.NewTimer(over)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
	after, seconds := read(), time.Since(begin).Seconds()
	return perSecond{(after.busy - before.busy) / seconds, (after.rare - before.rare) / seconds, (after.records - before.records) / seconds}
}

// TestServedRates_ReachTheSDK proves the closed loop: the collector's rates come back into the
// process. A method that is called very often is soon timed rarely, so that little crosses the
// network; a rare method is always timed; counts stay complete.
func TestServedRates_ReachTheSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	t.Parallel()
	// At the lowest rate, 12 million calls a second are 120 records. With the rare method's floor
	// and the share that is spread over all calls, a budget of 100 would be too small for the rare
	// method's rate to be 1.
	for _, c := range []struct {
		name, sampler string
		low, high     float64 // of the busy method's rate
		rare          float64 // the lower bound of the rare method's rate
		most          func(perSecond) float64
	}{
		{"tiers", `{strategy: tiers, interval: 1s, cold_start: {rate: 0.1}, classes: {hold_intervals: 1}}`, 0.00099, 0.00101, 1,
			func(now perSecond) float64 { return 0.001*now.busy + now.rare }},
		{"budget", `{strategy: budget, interval: 1s, floor_records_per_day: 1e6, budget: {records_per_second: 250}, boost: {enabled: false}}`, 1e-5, 0.002, 0.95, // a rate nearly in force stays
			func(perSecond) float64 { return 250 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := startPipeline(t, quickWarehouse+"\nprocessors: {adaptive_sampler: "+c.sampler+"}\n")
			l := busyAndRare(t, p.askingForRates(), "w")
			p.awaitRate(t, "workload", busy, c.low, c.high)
			p.awaitRate(t, "workload", rare, c.rare, 1)
			counters := l.counters(t)
			withRetries(t, func() faults {
				f := faults{}
				now := observe(t, p, counters, 3*time.Second)
				t.Logf("%.0f and %.1f calls a second, %.1f records a second arrive", now.busy, now.rare, now.records)
				if most := c.most(now); now.records > 1.5*most+20 || now.records < now.rare/2 {
					f.addf("records", "%.1f a second arrive, by the rates it should be about %.1f", now.records, most)
				}
				if now.busy < 1e5 {
					f.addf("the busy method", "it was called %.0f times a second: this proves little", now.busy)
				}
				return f
			})
			r := l.end(t)
			p.stop(t)
			requireExact(t, p, r)
			requireQuietLog(t, p)
		})
	}
}

// methodFile writes a method file with a rate or mode for each of the two methods, in two tiers, so
// that metrics distinguish them.
func methodFile(t *testing.T, path, busySays, rareSays string) {
	t.Helper()
	text := fmt.Sprintf(`{"version": 1, "tiers": {"busy": {"rate": 0.001}, "rare": {"rate": 1}},
		"methods": [{"match": "workload/unit0.*", "tier": "busy"%s}, {"class": "workload/unit1.Worker", "method": "Step1", "tier": "rare"%s}]}`, busySays, rareSays)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// arrived returns the number of measurements that reached the sampler, kept or not.
func arrived(ctx context.Context, p *pipeline, tier string) (float64, error) {
	m, err := p.Scrape(ctx)
	if err != nil {
		return 0, err
	}
	n := 0.0
	for _, outcome := range []string{"kept", "thinned", "off"} {
		n += m.Sum("otelcol_processor_adaptive_sampler_spans", "tier", tier, "outcome", outcome)
	}
	return n, nil
}

// TestMethodFile_OfTheCollectorReachesSDKs proves that a method file that only the collector has
// controls its services: their rates, off, and on again, without a restart.
func TestMethodFile_OfTheCollectorReachesSDKs(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	t.Parallel()
	file := filepath.Join(t.TempDir(), "methods.json")
	methodFile(t, file, "", "")
	p := startPipeline(t, quickWarehouse+fmt.Sprintf("\nprocessors: {adaptive_sampler: {methods_file: %q, interval: 1s}}\n", file))
	l := busyAndRare(t, p.askingForRates(), "w", "--pause", "100us")
	if e := p.awaitRate(t, "workload", busy, 0.00099, 0.00101); e.Rule == "" {
		t.Errorf("the explanation names no rule: %+v", e)
	}
	p.awaitRate(t, "workload", rare, 1, 1)

	methodFile(t, file, "", `, "mode": "off"`)
	counters := l.counters(t)
	await(t, "the method to be off in its process", func(ctx context.Context) (bool, error) {
		return silent(ctx, p, counters)
	})
	if e, err := explain(t.Context(), p, "workload", rare); err != nil || e.State != "off" {
		t.Errorf("explain says %+v, %v of a method that is off", e, err)
	}
	methodFile(t, file, "", "")
	before, err := arrived(t.Context(), p, "rare")
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the method to be on again", func(ctx context.Context) (bool, error) {
		now, err := arrived(ctx, p, "rare")
		return now > before+5, err
	})
	r := l.end(t)
	p.stop(t)
	requireSoundRows(t, p)
	stored, counted := storedCalls(t, p)["w"], countedCalls(r)
	if stored[busy] != counted[busy] || counted[busy] == 0 {
		t.Errorf("the busy method was called %d times, %d are stored", counted[busy], stored[busy])
	}
	if stored[rare] >= counted[rare] || stored[rare] == 0 { // while it is off its calls are not counted
		t.Errorf("the rare method was called %d times, %d are stored: it was on, off and on", counted[rare], stored[rare])
	}
}

// silent reports whether no measurement of the rare method arrives although it is called a dozen
// times, while later reports of its process do arrive.
func silent(ctx context.Context, p *pipeline, counters *groundtruth.Counters) (bool, error) {
	before, err := arrived(ctx, p, "rare")
	if err != nil || before == 0 {
		return false, err
	}
	for called := counters.Methods()[1].Calls; counters.Methods()[1].Calls < called+12; {
		if err := pause(ctx); err != nil {
			return false, err
		}
	}
	intervals := func() (float64, error) {
		m, err := p.Scrape(ctx)
		return m.Sum("otelcol_receiver_method_spans_received", "kind", "process"), err
	}
	reported, err := intervals()
	if err != nil {
		return false, err
	}
	for now := reported; now < reported+2; now, err = intervals() { // the first can have been on its way
		if err := errors.Join(err, pause(ctx)); err != nil {
			return false, err
		}
	}
	after, err := arrived(ctx, p, "rare")
	return after == before, err
}

// pause waits for the time between two polls.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}
