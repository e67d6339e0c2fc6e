package corehour

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/corehour/corehour/sdk/internal/export"
	"github.com/corehour/corehour/sdk/internal/messagelog"
)

var started = NewMethod("started.Method")

func TestStart_Twice(t *testing.T) {
	var out bytes.Buffer
	_, stop := start(t, WithWriter(&out))
	if _, err := Start(context.Background()); !errors.Is(err, errStarted) {
		t.Errorf("the second Start says %v", err)
	}
	before := started.Calls()
	started.Begin().End()
	stop()
	started.Begin().End() // off: not counted
	if n := started.Calls() - before; n != 1 {
		t.Errorf("%d calls counted, want 1", n)
	}
	out.Reset()
	_, stop = start(t, WithWriter(&out))
	started.Begin().End()
	stop()
	if !strings.Contains(out.String(), "method=started.Method calls=1\n") {
		t.Errorf("after a restart:\n%s", out.String())
	}
}

func TestStart_ReportsAllFaults(t *testing.T) {
	_, err := Start(context.Background(), WithSample(2), WithCPURate(-1), WithEndpoint("localhost:4318"),
		WithInterval(7*time.Second), WithQueue(1), WithFlush(0, 0), WithTimeout(-1), WithDefaultMode(9))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"WithSample: rate must be within 0 and 1, found 2",
		"WithCPURate: cpu rate must be within 0 and 1, found -1",
		`WithEndpoint: an endpoint must be an http or https URL such as http://localhost:4318, found "localhost:4318"`,
		"WithInterval: must divide a minute and be at least 1s, found 7s",
		"WithQueue: must be within 2 and 1048576, found 1",
		"WithFlush: both must be positive, found 0s and 0",
		"WithTimeout: must be positive and 24h0m0s at most, found -1ns",
		"WithDefaultMode: must be Sample, Aggregate or Off, found Mode(9)",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	if started.plan.Load() != nil {
		t.Error("a probe is on after a failed Start")
	}
}

func TestEnvironment_Interval(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"": time.Minute, "1s": time.Second, "5s": 5 * time.Second, "1m": time.Minute,
		"7s": 0, "500ms": 0, "2m": 0, "0s": 0, "-5s": 0, "5": 0, "soon": 0,
	} {
		t.Setenv("COREHOUR_INTERVAL", value)
		said := hear(t)
		c := defaultConfig()
		c.fromEnvironment()
		named := strings.Contains(said(), fmt.Sprintf("COREHOUR_INTERVAL is left out: must be a duration such as 10s that divides a minute, 1s at least, found %q", value))
		if c.interval != cmp.Or(want, time.Minute) || named != (want == 0) {
			t.Errorf("%q: every %s, said %s", value, c.interval, said())
		}
		WithInterval(2 * time.Second)(&c)
		if c.interval != 2*time.Second {
			t.Errorf("%q wins over the option", value)
		}
	}
}

func TestEnvironment_Variables(t *testing.T) {
	for key, value := range map[string]string{
		"OTEL_SERVICE_NAME":                     "shop",
		"OTEL_RESOURCE_ATTRIBUTES":              "service.name=other, service.version=2.0 ,team=a%20b,bad",
		"OTEL_EXPORTER_OTLP_ENDPOINT":           "https://collector:4318/base/",
		"OTEL_EXPORTER_OTLP_HEADERS":            "authorization=Bearer%20x",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS":     "x-tenant=7",
		"OTEL_EXPORTER_OTLP_TIMEOUT":            "2500",
		"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT":     "soon",
		"COREHOUR_SAMPLE":                       "0.125",
		"COREHOUR_EXPORT":                       "otlp",
		"COREHOUR_CPU":                          "sometimes",
		"OTEL_EXPORTER_OTLP_COMPRESSION":        "none",
		"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "brotli",
		"OTEL_SDK_DISABLED":                     "False",
	} {
		t.Setenv(key, value)
	}
	said := hear(t)
	c := defaultConfig()
	WithTimeout(math.MaxInt64)(&c)
	if len(c.faults) != 1 || c.timeout != defaultConfig().timeout {
		t.Errorf("a time-out of centuries is taken: %s, %v", c.timeout, c.faults)
	}
	c.fromEnvironment()
	if c.attributes["service.name"] != "shop" || c.attributes["service.version"] != "2.0" || c.attributes["team"] != "a b" || len(c.attributes) != 3 {
		t.Errorf("attributes %v", c.attributes)
	}
	if c.collectors[0] != "https://collector:4318/base/v1/traces" || c.timeout != 2500*time.Millisecond {
		t.Errorf("endpoint %s, timeout %s", c.collectors, c.timeout)
	}
	if c.headers["Authorization"] != "Bearer x" || c.headers["X-Tenant"] != "7" {
		t.Errorf("headers %v", c.headers)
	}
	if c.compression != "none" || !strings.Contains(said(), `OTEL_EXPORTER_OTLP_TRACES_COMPRESSION is left out: must be gzip or none, found "brotli"`) {
		t.Errorf("compression %q, said %s", c.compression, said())
	}
	if c.defaults.rate != 0.125 || c.defaults.mode != Sample || c.cpu != cpuIfSafe || c.disabled || c.writer != nil {
		t.Errorf("config %+v", c)
	}
	for _, want := range []string{"OTEL_RESOURCE_ATTRIBUTES: entry 4 is left out", `COREHOUR_CPU is left out: must be on or off, found "sometimes"`, `OTEL_EXPORTER_OTLP_TRACES_TIMEOUT is left out: must be a positive number of milliseconds, a day's at most, found "soon"`} {
		if !strings.Contains(said(), want) {
			t.Errorf("not said: %s\n%s", want, said())
		}
	}

	t.Setenv("COREHOUR_ENDPOINT", "http://one:4318")
	c = defaultConfig()
	c.fromEnvironment()
	if urls, err := export.RatesURLs(c.rates, c.collectors); err != nil || strings.Join(append(c.collectors, urls...), " ") != "http://one:4318/v1/traces http://one:4319/v1/rates" {
		t.Errorf("one endpoint: collectors %v, rates %v, %v", c.collectors, urls, err)
	}
	t.Setenv("COREHOUR_ENDPOINT", "")
	t.Setenv("COREHOUR_ENDPOINTS", "http://a:4318, http://b:4318/x")
	t.Setenv("COREHOUR_RATES_ENDPOINT", ":4319")
	c = defaultConfig()
	c.fromEnvironment()
	if strings.Join(c.collectors, " ") != "http://a:4318/v1/traces http://b:4318/x/v1/traces" || c.rates != ":4319" {
		t.Errorf("collectors %v, rates %s", c.collectors, c.rates)
	}
	t.Setenv("COREHOUR_ENDPOINTS", "http://a:4318,b:4318")
	t.Setenv("COREHOUR_RATES_ENDPOINT", "rates")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:1/custom")
	t.Setenv("COREHOUR_SAMPLE", "off")
	t.Setenv("COREHOUR_EXPORT", "stderr")
	t.Setenv("COREHOUR_CPU", "OFF")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	c = defaultConfig()
	c.fromEnvironment()
	if c.collectors[0] != "http://traces:1/custom" || c.defaults.mode != Off || c.writer != os.Stderr || c.cpu != cpuOff || !c.disabled {
		t.Errorf("config %+v", c)
	}
	for _, want := range []string{"COREHOUR_ENDPOINTS is left out", "COREHOUR_RATES_ENDPOINT is left out"} {
		if !strings.Contains(said(), want) {
			t.Errorf("not said: %s\n%s", want, said())
		}
	}
	shutdown, err := Start(context.Background(), WithSample(1))
	if err != nil || started.plan.Load() != nil {
		t.Errorf("disabled: %v, plan %v", err, started.plan.Load())
	}
	if err := shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// hear collects the SDK's messages for stderr.
func hear(t *testing.T) (said func() string) {
	var out heard
	old := messages
	messages = messagelog.New(&out, 0)
	t.Cleanup(func() { messages = old })
	return func() string {
		<-messages.Write() // earlier messages of the program
		<-messages.Write()
		return out.String()
	}
}

// heard is the collected text, readable while more is written.
type heard struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.out.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.out.String()
}

func TestStart_AllOffLogsHint(t *testing.T) {
	said := hear(t)
	t.Setenv("COREHOUR_SAMPLE", "off")
	for range 2 {
		stopped, err := Start(context.Background(), WithDefaultMode(Off), WithWriter(io.Discard))
		if err != nil {
			t.Fatal(err)
		}
		stopped(context.Background())
	}
	// Methods of other tests with a rate of their own are on: only those without calls count.
	on := 0
	for _, m := range registry.ordered {
		if m.options.rate != nil || m.options.mode != nil && *m.options.mode != Off {
			on++
		}
	}
	if n := strings.Count(said(), "every method is off"); (n == 1) != (on == 0) {
		t.Errorf("said %d times with %d methods on:\n%s", n, on, said())
	}
}

func TestStart_MethodFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "methods.json")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said := hear(t)
	write(`{"version": 1, "defaults": {"rate": 0.5, "cpu_rate": 0.25}, "methods": [
	  {"class": "filed.Cart", "method": "Total", "rate": 0.001},
	  {"class": "filed.Cart", "method": "Coded", "rate": 0.001, "cpu_rate": 1},
	  {"match": "filed.*", "mode": "aggregate"},
	  {"class": "filed", "method": "Off", "mode": "off"},
	  {"class": "filed", "method": "Wait", "blocking": true},
	  {"class": "filed", "method": "Never", "rate": 3},
	  {"class": "filed", "method": "Absent", "rate": 0.3}]}`)
	methods := map[string]*Method{
		"total": NewMethod("filed.(*Cart).Total"),
		"coded": NewMethod("filed.(*Cart).Coded", Rate(0.75), Blocking()),
		"match": NewMethod("filed.Any"),
		"off":   NewMethod("filed.Off", WithMode(Sample)),
		"wait":  NewMethod("filed.Wait", CPURate(1)),
		"other": NewMethod("unfiled.Method"),
	}
	t.Setenv("COREHOUR_METHODS", path)
	e, stop := start(t, WithWriter(&bytes.Buffer{}))
	for name, want := range map[string]settings{
		"total": {rate: 0.001, cpuRate: 0.25},
		"coded": {rate: 0.75},
		"match": {mode: Aggregate, rate: 0.5, cpuRate: 0.25},
		"wait":  {rate: 0.5},
		"other": {rate: 0.5, cpuRate: 0.25},
	} {
		got := planOf(methods[name])
		if got.asked = 0; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if methods["off"].plan.Load() != nil {
		t.Error("a method that the file switches off is on")
	}
	if late := NewMethod("filed.(*Late).Any"); late.plan.Load() == nil || late.plan.Load().mode != Aggregate {
		t.Error("a method made after Start has no plan of the file")
	}
	e.reportUnused()
	if got := said(); !strings.Contains(got, "methods[5].rate (line ") || !strings.Contains(got, "): must be between 1e-09 and 1, found 3") || !strings.Contains(got, "entries that fit no method: methods[6] (filed.Absent)") {
		t.Errorf("said:\n%s", got)
	}
	stop()

	write(`{"version": 1, "methods": [{"class": "filed", "method": "Never", "rate": 3}]}`)
	if _, err := Start(context.Background(), WithStrictMethods()); err == nil || !strings.Contains(err.Error(), "methods[0].rate (line 1): must be") {
		t.Errorf("a strict file with a fault: %v", err)
	}
	write(`{"version": 1, "methods": [{"class": "filed", "method": "Absent"}]}`)
	if _, err := Start(context.Background(), WithStrictMethods()); err == nil || !strings.Contains(err.Error(), "fit no method: methods[0] (filed.Absent)") {
		t.Errorf("a strict file with an entry too many: %v", err)
	}
	if methods["total"].plan.Load() != nil || registry.engine != nil {
		t.Error("a probe is on after a failed Start")
	}
	if _, err := Start(context.Background(), WithMethodFile(path+".absent")); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there, named by the program: %v", err)
	}
	t.Setenv("COREHOUR_METHODS", path+".absent")
	_, stop = start(t, WithWriter(&bytes.Buffer{}))
	if methods["total"].plan.Load().rate != defaultRate || !strings.Contains(said(), "COREHOUR_METHODS is left out") {
		t.Errorf("a file that is not there, named by the environment: %s", said())
	}
	stop()
}

// Nothing remains after shutdown, with a real server and real connections.
func TestShutdown_NoGoroutineLeft(t *testing.T) {
	server := newMoody(1)
	server.calm()
	before := runtime.NumGoroutine()
	for range 3 {
		_, stop := start(t, WithEndpoint(server.URL), WithSample(1))
		for range 100 {
			started.Begin().End()
		}
		stop()
	}
	server.Close()
	// Connections take a moment to notice.
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
}

// A fault of a background goroutine is counted, and the SDK goes on.
func TestWorker_PanicRecovered(t *testing.T) {
	said := hear(t)
	synctest.Test(t, func(t *testing.T) {
		c := defaultConfig()
		c.defaults.rate = 0 // a measurement would leave before the counts
		e, err := newEngine(c)
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		e.out = func(*request) (export.Outcome, error) {
			if sent++; sent == 1 {
				panic("a fault")
			}
			return export.Accepted, nil
		}
		if err := e.install(); err != nil {
			t.Fatal(err)
		}
		started.Begin().End()
		before := Stats()
		time.Sleep(5 * time.Minute)
		if after := Stats(); after.WriteUnknown-before.WriteUnknown != 1 || after.HandedOut-before.HandedOut != 1 {
			t.Errorf("the calls of the request with the fault are not accounted for: %+v", after)
		}
		if n := e.counters.recovered.Load(); n != 1 {
			t.Errorf("%d faults survived", n)
		}
		if err := e.shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if !strings.Contains(said(), "recovered from a fault of its own") {
		t.Errorf("said: %s", said())
	}
}

// An unreachable collector is no reason to fail.
func TestStart_NoCollector(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	shutdown, err := Start(context.Background(), WithEndpoint(server.URL), WithSample(1))
	if err != nil {
		t.Fatal(err)
	}
	started.Begin().End()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := shutdown(ctx); err == nil || !strings.Contains(err.Error(), "not delivered: 1 calls") {
		t.Errorf("shutdown says %v", err)
	}
}

// Requests to another machine are compressed by default.
func TestCompression_WhichCollectors(t *testing.T) {
	for _, test := range []struct {
		collectors, compression string
		want                    bool
	}{
		{"http://localhost:4318", "", false},
		{"http://127.0.0.1:4318 http://[::1]:4318", "", false},
		{"https://localhost.example:4318", "", true},
		{"http://localhost:4318 http://10.0.0.7:4318", "", true},
		{"http://collector:4318", "", true},
		{"http://localhost:4318", "gzip", true},
		{"http://collector:4318", "none", false},
	} {
		c := &config{collectors: strings.Fields(test.collectors), compression: test.compression}
		if got := c.compresses(); got != test.want {
			t.Errorf("%s with compression %q: compressed %t, want %t", test.collectors, test.compression, got, test.want)
		}
	}
}
