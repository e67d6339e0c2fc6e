package samplingrates

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/corehour/corehour/internal/rates"
)

// fakeSource has one table for each service.
type fakeSource struct {
	mu       sync.Mutex
	tables   map[string]*rates.Table
	changed  chan struct{}
	asked    int
	explain  []rates.Explanation
	explains []string // requested explanations
}

func newSource() *fakeSource {
	return &fakeSource{tables: map[string]*rates.Table{}, changed: make(chan struct{})}
}

func (f *fakeSource) Rates(target rates.Target) (*rates.Table, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return f.tables[target.Service], f.changed
}

func (f *fakeSource) Explain(target rates.Target, method string) []rates.Explanation {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.explains = append(f.explains, fmt.Sprintf("%+v %s", target, method))
	return f.explain
}

func (f *fakeSource) set(service string, table *rates.Table) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tables[service] = table
	close(f.changed)
	f.changed = make(chan struct{})
}

func p(x float64) *float64 { return &x }

// tableOf returns a table with one method at this rate.
func tableOf(revision string, rate float64) *rates.Table {
	return &rates.Table{
		Revision: revision, TTLSeconds: 300, Default: rates.Rate{Mode: "sample", P: p(1)},
		Methods: []rates.Rate{{Name: "shop/cart.(*Cart).Total", P: p(rate), Reason: "<b>&\u2028"}},
	}
}

// patience is for what comes at once, on a machine that may be busy or away.
const patience = 2 * time.Minute

// rig is a real extension on a free loopback port, and a client.
type rig struct {
	t       *testing.T
	server  *server
	source  *fakeSource
	metrics *componenttest.Telemetry
	client  *http.Client
}

func testConfig(change func(*Config)) *Config {
	config := createDefaultConfig().(*Config)
	config.HTTP.NetAddr.Endpoint = "localhost:0"
	config.GRPC.GetOrInsertDefault().NetAddr.Endpoint = "localhost:0"
	if change != nil {
		change(config)
	}
	return config
}

type host struct {
	component.Host
	extensions map[component.ID]component.Component
}

func (h host) GetExtensions() map[component.ID]component.Component { return h.extensions }

// newRig publishes a source, and does not listen.
func newRig(t *testing.T, config *Config) *rig {
	t.Helper()
	r := &rig{t: t, source: newSource(), metrics: componenttest.NewTelemetry()}
	factory := NewFactory()
	set := extensiontest.NewNopSettings(factory.Type())
	set.TelemetrySettings = r.metrics.NewTelemetrySettings()
	made, err := factory.Create(context.Background(), set, config)
	require.NoError(t, err)
	r.server = made.(*server)
	_, err = r.server.Publish("adaptive_sampler", r.source)
	require.NoError(t, err)
	return r
}

func start(t *testing.T, config *Config) *rig {
	t.Helper()
	r := newRig(t, config)
	require.NoError(t, r.server.Start(context.Background(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, r.server.Shutdown(context.Background())) })
	r.client = newClient(t)
	return r
}

func newClient(t *testing.T) *http.Client {
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

func (r *rig) ask(method, path string, headers ...string) reply {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.askWith(ctx, method, path, headers...)
}

func (r *rig) askWith(ctx context.Context, method, path string, headers ...string) reply {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+r.server.address.String()+path, nil)
	if err != nil {
		return reply{err: err}
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := r.client.Do(request)
	if err != nil {
		return reply{err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, string(text), err}
}

func (r *rig) get(path string, headers ...string) reply {
	return r.ask(http.MethodGet, path, headers...)
}

// later asks in the background.
func (r *rig) later(path string, headers ...string) <-chan reply {
	answered := make(chan reply, 1)
	go func() { answered <- r.get(path, headers...) }()
	return answered
}

// awaitWaiting waits until so many clients wait.
func (r *rig) awaitWaiting(n int64) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.server.waiting.now.Load() == n }, patience, time.Millisecond)
}

// counted is a metric as `value value` -> count, the values being those of the
// metric's attributes in the order of their names.
func (r *rig) counted(name string) map[string]int64 {
	r.t.Helper()
	out := map[string]int64{}
	m, err := r.metrics.GetMetric("otelcol_extension_sampling_rates_" + name)
	if err != nil {
		return out // nothing was recorded yet
	}
	var points []metricdata.DataPoint[int64]
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		points = data.DataPoints
	case metricdata.Gauge[int64]:
		points = data.DataPoints
	default:
		r.t.Fatalf("metric %s has data of type %T", name, data)
	}
	for _, point := range points {
		attributes := map[string]string{}
		for _, kv := range point.Attributes.ToSlice() {
			attributes[string(kv.Key)] = kv.Value.AsString()
		}
		var values []string
		for _, key := range slices.Sorted(maps.Keys(attributes)) {
			values = append(values, attributes[key])
		}
		out[strings.Join(values, " ")] = point.Value
	}
	return out
}
