package warehouse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// export describes one request as the SDK sends it.
type export struct {
	instance string
	seq      int64
	calls    map[string]int64 // calls by method
	measured int              // number of measurements of each method
	process  bool
}

// traces returns the spans of the request. All values derive from the fields, so that tests can compute
// the expected rows.
func (x export) traces() ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	attrs := rs.Resource().Attributes()
	attrs.PutStr(methodspan.ResourceService, "shop")
	attrs.PutStr(methodspan.ResourceVersion, "1.4.2")
	attrs.PutStr(methodspan.ResourceInstance, x.instance)
	attrs.PutStr(methodspan.ResourceProcessStart, "2026-11-21T08:00:00Z")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().Attributes().PutInt(methodspan.AttrBatchSeq, x.seq)
	ss.Scope().Attributes().PutInt(methodspan.AttrCallsTotal, x.seq*1000)
	start := time.Now().Add(-time.Minute)
	add := func(kind, method string, wall time.Duration) pcommon.Map {
		span := ss.Spans().AppendEmpty()
		span.SetName(method)
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(start))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(wall)))
		span.Attributes().PutStr(methodspan.AttrKind, kind)
		if kind != methodspan.KindProcess {
			span.Attributes().PutStr(methodspan.AttrFunction, method)
		}
		return span.Attributes()
	}
	for method, calls := range x.calls {
		add(methodspan.KindCounts, method, time.Second).PutInt(methodspan.AttrCalls, calls)
		for i := range x.measured {
			a := add(methodspan.KindCall, method, time.Duration(1000+10*i)*time.Microsecond)
			a.PutDouble(methodspan.AttrP, []float64{0.5, 0.25, 0.125}[i%3])
			a.PutStr(methodspan.AttrCaller, fmt.Sprintf("shop/web.Handler.Serve%d", i%2))
			if i%2 == 0 {
				a.PutDouble(methodspan.AttrCPUP, 0.5)
				a.PutInt(methodspan.AttrCPUTime, int64(1000*(900+10*i)))
			}
		}
	}
	if x.process {
		add(methodspan.KindProcess, "process", time.Second).PutDouble(methodspan.AttrProcessCores, 2)
	}
	return td
}

// rowTotals are totals by instance and method that must not change from input to store: calls, and the
// weighted measurements.
type rowTotals map[string]float64

func (b rowTotals) addRows(rows []methodspan.Row) {
	for i := range rows {
		r := &rows[i]
		if r.Kind == methodspan.KindProcess {
			b["process rows"]++
			continue
		}
		key := r.Resource.Instance + " " + r.Class + "." + r.Method + " "
		b[key+"calls"] += r.Calls
		if r.Measured > 0 {
			b[key+"measured/p"] += float64(r.Measured) / r.P
			b[key+"wall/p"] += float64(r.WallNS) / r.P
		}
		if r.CPUMeasured > 0 {
			b[key+"cpu/q"] += float64(r.CPUNS) / r.Q()
		}
	}
	maps.DeleteFunc(b, func(_ string, v float64) bool { return v == 0 })
}

func totalsOf(tds ...ptrace.Traces) rowTotals {
	b := rowTotals{}
	c := methodspan.NewConverter()
	for _, td := range tds {
		items, _ := c.Items(td)
		for _, item := range items {
			b.addRows(item.Rows)
		}
	}
	return b
}

// balanced compares totals. Its relative tolerance of 1e-6 allows for rounding of sums to 1 ns per stored row.
func balanced(t *testing.T, want, got rowTotals) {
	t.Helper()
	for _, d := range differences(want, got) {
		t.Error(d)
	}
}

func differences(want, got rowTotals) (all []string) {
	for key := range want {
		if math.Abs(want[key]-got[key]) > 1e-6*math.Abs(want[key]) {
			all = append(all, fmt.Sprintf("%s: %v went in, %v came out", key, want[key], got[key]))
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			all = append(all, fmt.Sprintf("%s: %v came out, nothing went in", key, got[key]))
		}
	}
	return all
}

// outside receives functions to run outside of the synctest bubble of the test.
var (
	outside     chan func()
	outsideDone chan struct{}
)

// bubble runs a test in a synctest bubble. Files are read outside of it, because the Parquet library
// pools decoders, and a decoder created in a bubble cannot be used after it.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	outside, outsideDone = make(chan func()), make(chan struct{})
	var worker sync.WaitGroup
	worker.Go(func() {
		for f := range outside {
			f()
			outsideDone <- struct{}{}
		}
	})
	defer func() {
		close(outside)
		worker.Wait()
		outside = nil
	}()
	synctest.Test(t, f)
}

// storedRows returns all rows of the warehouse at path.
func storedRows(t *testing.T, path string) (rows []methodspan.Row) {
	t.Helper()
	if outside == nil {
		return readAll(t, path)
	}
	outside <- func() { rows = readAll(t, path) }
	<-outsideDone
	return rows
}

func readAll(t *testing.T, path string) []methodspan.Row {
	s, err := table.Open(path)
	if errors.Is(err, warehouse.ErrEmpty) {
		return nil
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	var all []methodspan.Row
	for _, f := range s.Files {
		rows, err := parquet.ReadRows(f.Path)
		if err != nil {
			t.Error(err)
		}
		all = append(all, rows...)
	}
	return all
}

func storedTotals(t *testing.T, path string) rowTotals {
	b := rowTotals{}
	b.addRows(storedRows(t, path))
	return b
}

// faulty wraps a store and injects errors.
type faulty struct {
	warehouse.Store
	mu     sync.Mutex
	before func(n int, items []methodspan.Item) error // called before write n, from 1; its error replaces the write
	after  func(n int) error                          // called after write n; its error replaces the result
	writes int
}

func (f *faulty) Write(ctx context.Context, items []methodspan.Item) (warehouse.Result, error) {
	f.mu.Lock()
	f.writes++
	n := f.writes
	f.mu.Unlock()
	if f.before != nil {
		if err := f.before(n, items); err != nil {
			return warehouse.Result{}, err
		}
	}
	res, err := f.Store.Write(ctx, items)
	if f.after != nil {
		if herr := f.after(n); herr != nil {
			return warehouse.Result{}, herr
		}
	}
	return res, err
}

var (
	errBroken  = &warehouse.Error{Op: "write file", Path: "x", Kind: warehouse.ErrFull}
	errUnsure  = &warehouse.Error{Op: "replace", Path: "x", Kind: warehouse.ErrUnknown}
	testConfig = func(t *testing.T) *Config {
		cfg := createDefaultConfig().(*Config)
		cfg.Path = filepath.Join(t.TempDir(), "warehouse")
		return cfg
	}
)

// patience is the timeout for fast operations, long enough for a busy or suspended machine.
const patience = 2 * time.Minute

// rig is an exporter under test with its telemetry, logs and input.
type rig struct {
	*warehouseExporter
	t     *testing.T
	tel   *componenttest.Telemetry
	logs  *observer.ObservedLogs
	store *faulty
	in    []ptrace.Traces
}

func newRig(t *testing.T, cfg *Config) *rig {
	t.Helper()
	require.NoError(t, cfg.Validate())
	r := &rig{t: t, tel: componenttest.NewTelemetry(), store: &faulty{}}
	t.Cleanup(func() { _ = r.tel.Shutdown(context.Background()) })
	core, logs := observer.New(zapcore.InfoLevel)
	r.logs = logs
	set := exporter.Settings{ID: component.NewID(typ), TelemetrySettings: r.tel.NewTelemetrySettings()}
	set.Logger = zap.New(core)
	w, err := newWarehouse(context.Background(), set, cfg, func(cfg *Config, warn func(string)) (warehouse.Store, error) {
		s, err := openSink(cfg, warn)
		r.store.Store = s
		return r.store, err
	})
	require.NoError(t, err)
	r.warehouseExporter = w
	return r
}

func (r *rig) start() *rig {
	r.t.Helper()
	require.NoError(r.t, r.Start(context.Background(), componenttest.NewNopHost()))
	return r
}

func (r *rig) stop() {
	r.t.Helper()
	require.NoError(r.t, r.Shutdown(context.Background()))
}

// send sends a request to the exporter and keeps it for the totals.
func (r *rig) send(x export) {
	r.t.Helper()
	td := x.traces()
	r.in = append(r.in, td)
	require.NoError(r.t, r.ConsumeTraces(context.Background(), td))
}

// metric returns the sum over all points of a metric whose attributes include attrs, which are pairs of
// name and value.
func (r *rig) metric(name string, attrs ...string) float64 {
	r.t.Helper()
	m, err := r.tel.GetMetric("otelcol_exporter_warehouse_" + name)
	if err != nil {
		return 0
	}
	matches := func(get func(string) (string, bool)) bool {
		for i := 0; i < len(attrs); i += 2 {
			if v, ok := get(attrs[i]); !ok || v != attrs[i+1] {
				return false
			}
		}
		return true
	}
	var sum float64
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			if matches(attrOf(p.Attributes)) {
				sum += float64(p.Value)
			}
		}
	case metricdata.Sum[float64]:
		for _, p := range data.DataPoints {
			if matches(attrOf(p.Attributes)) {
				sum += p.Value
			}
		}
	case metricdata.Gauge[int64]:
		for _, p := range data.DataPoints {
			sum += float64(p.Value)
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			sum += p.Value
		}
	default:
		r.t.Fatalf("%s is a %T", name, m.Data)
	}
	return sum
}

func attrOf(set attribute.Set) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := set.Value(attribute.Key(name))
		return v.AsString(), ok
	}
}
