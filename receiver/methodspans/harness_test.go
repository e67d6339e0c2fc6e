package methodspans

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/corehour/corehour/internal/methodspan"
)

// rig is a real receiver that listens on free loopback ports, and clients.
type rig struct {
	t        *testing.T
	sink     *consumertest.TracesSink
	metrics  *componenttest.Telemetry
	receiver receiver.Traces
	grpcAddr string
	httpAddr string
	client   ptraceotlp.GRPCClient
}

// testConfig returns the default configuration with free ports.
func testConfig(change func(*Config)) *Config {
	config := createDefaultConfig().(*Config)
	config.Protocols.GRPC.GetOrInsertDefault().NetAddr.Endpoint = "localhost:0"
	config.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = "localhost:0"
	if change != nil {
		change(config)
	}
	return config
}

func start(t *testing.T, config *Config, next consumer.Traces) *rig {
	t.Helper()
	return startWith(t, config, next, componenttest.NewNopHost())
}

func startWith(t *testing.T, config *Config, next consumer.Traces, host component.Host) *rig {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	r := &rig{t: t, sink: new(consumertest.TracesSink), metrics: componenttest.NewTelemetry()}
	if next == nil {
		next = r.sink
	}
	factory := NewFactory()
	set := receivertest.NewNopSettings(factory.Type())
	set.TelemetrySettings = r.metrics.NewTelemetrySettings()
	set.Logger = zap.New(core)

	var err error
	r.receiver, err = factory.CreateTraces(context.Background(), set, config, next)
	require.NoError(t, err)
	require.NoError(t, r.receiver.Start(context.Background(), host))
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			require.NoError(t, r.receiver.Shutdown(context.Background()))
		}
	}
	t.Cleanup(stop)
	for _, entry := range logs.All() {
		endpoint, _ := entry.ContextMap()["endpoint"].(string)
		switch entry.Message {
		case "Starting GRPC server":
			r.grpcAddr = endpoint
		case "Starting HTTP server":
			r.httpAddr = endpoint
		}
	}
	if r.grpcAddr != "" {
		conn, err := grpc.NewClient(r.grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()); stop() })
		r.client = ptraceotlp.NewGRPCClient(conn)
	}
	return r
}

// export sends a copy of the request over gRPC.
func (r *rig) export(td ptrace.Traces) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	_, err := r.client.Export(ctx, ptraceotlp.NewExportRequestFromTraces(td))
	return err
}

// receive sends over gRPC and returns the request that the receiver passes on.
func (r *rig) receive(td ptrace.Traces) ptrace.Traces {
	r.t.Helper()
	r.sink.Reset()
	require.NoError(r.t, r.export(td))
	switch all := r.sink.AllTraces(); len(all) {
	case 0:
		return ptrace.NewTraces()
	default:
		require.Len(r.t, all, 1)
		return all[0]
	}
}

func (r *rig) post(path, contentType string, body []byte) (status int, answer string) {
	r.t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Post("http://"+r.httpAddr+path, contentType, bytes.NewReader(body))
	require.NoError(r.t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	require.NoError(r.t, response.Body.Close())
	return response.StatusCode, string(text)
}

// counted returns a metric of the receiver as `value value` -> count, where the values are those
// of the metric's attributes, ordered by name.
func (r *rig) counted(name string) map[string]int64 {
	r.t.Helper()
	out := map[string]int64{}
	m, err := r.metrics.GetMetric("otelcol_receiver_method_spans_" + name)
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
	for _, p := range points {
		var values []string
		for _, kv := range p.Attributes.ToSlice() {
			values = append(values, kv.Value.AsString())
		}
		if p.Value != 0 {
			out[strings.Join(values, " ")] += p.Value
		}
	}
	return out
}

// faults returns the counted faults as "outcome reason" or "outcome reason xN".
func (r *rig) faults() []string {
	var out []string
	counts := r.counted("faults")
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[key]; n > 1 {
			key = fmt.Sprintf("%s x%d", key, n)
		}
		out = append(out, key)
	}
	return out
}

// Test data as the corehour SDK sends it.

const (
	second = int64(time.Second)
	noon   = 1_790_000_000 * second // a moment in 2026
)

// batch returns a request of the corehour SDK; fill adds its spans.
func batch(instance string, seq int64, fill func(ptrace.SpanSlice)) ptrace.Traces {
	td := ptrace.NewTraces()
	addBatch(td, instance, seq, fill)
	return td
}

func addBatch(td ptrace.Traces, instance string, seq int64, fill func(ptrace.SpanSlice)) {
	rs := td.ResourceSpans().AppendEmpty()
	attributes := rs.Resource().Attributes()
	attributes.PutStr(methodspan.ResourceServiceNamespace, "eu")
	attributes.PutStr(methodspan.ResourceService, "shop")
	attributes.PutStr(methodspan.ResourceVersion, "1.4.2")
	attributes.PutStr(methodspan.ResourceEnvironment, "prod")
	attributes.PutStr(methodspan.ResourceInstance, instance)
	attributes.PutStr(methodspan.ResourceProcessStart, "2026-09-21T14:00:00.25Z")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("github.com/corehour/corehour/sdk")
	if seq > 0 {
		ss.Scope().Attributes().PutInt(methodspan.AttrBatchSeq, seq)
		ss.Scope().Attributes().PutInt(methodspan.AttrCallsTotal, 100*seq)
	}
	fill(ss.Spans())
}

func addCall(spans ptrace.SpanSlice) ptrace.Span {
	span := spans.AppendEmpty()
	span.SetName("shop/cart.(*Cart).Total")
	span.SetKind(ptrace.SpanKindInternal)
	span.SetTraceID(pcommon.TraceID{1, 2, 3, 15: byte(spans.Len())})
	span.SetSpanID(pcommon.SpanID{9, 7: byte(spans.Len())})
	span.TraceState().FromRaw("ot=th:c;rv:dddddddddddddd") // p = 0.25
	span.SetStartTimestamp(pcommon.Timestamp(noon))
	span.SetEndTimestamp(pcommon.Timestamp(noon + 20*int64(time.Millisecond)))
	a := span.Attributes()
	a.PutStr(methodspan.AttrKind, methodspan.KindCall)
	a.PutStr(methodspan.AttrFunction, "shop/cart.(*Cart).Total")
	a.PutDouble(methodspan.AttrP, 0.25)
	a.PutDouble(methodspan.AttrCPUP, 0.5)
	a.PutStr(methodspan.AttrCPUState, methodspan.CPUExact)
	a.PutInt(methodspan.AttrCPUTime, 5_000_000)
	a.PutStr(methodspan.AttrCaller, "shop/web.Handler.Pay")
	a.PutStr(methodspan.AttrIDs, methodspan.IDsSynthetic)
	return span
}

// addCounts adds calls per method: name, calls, name, calls, ...
func addCounts(spans ptrace.SpanSlice, pairs ...any) ptrace.Span {
	span := spans.AppendEmpty()
	span.SetName("corehour.counts")
	span.SetTraceID(pcommon.TraceID{1, 2, 3, 15: 200})
	span.SetSpanID(pcommon.SpanID{8, 7: 1})
	span.TraceState().FromRaw("ot=th:0")
	span.SetStartTimestamp(pcommon.Timestamp(noon))
	span.SetEndTimestamp(pcommon.Timestamp(noon + 60*second))
	a := span.Attributes()
	a.PutStr(methodspan.AttrKind, methodspan.KindCounts)
	a.PutStr(methodspan.AttrIDs, methodspan.IDsSynthetic)
	methods := a.PutEmptySlice(methodspan.AttrCountsMethods)
	for i := 0; i < len(pairs); i += 2 {
		if err := methods.AppendEmpty().FromRaw(pairs[i]); err != nil {
			panic(err)
		}
	}
	calls := a.PutEmptySlice(methodspan.AttrCountsCalls)
	for i := 1; i < len(pairs); i += 2 {
		if err := calls.AppendEmpty().FromRaw(pairs[i]); err != nil {
			panic(err)
		}
	}
	return span
}

// addAggregate adds the sums of three calls of 10, 20 and 30 us; two calls
// were timed on the CPU with 1 and 3 us.
func addAggregate(spans ptrace.SpanSlice) ptrace.Span {
	span := spans.AppendEmpty()
	span.SetName("shop/codec.Decode")
	span.SetTraceID(pcommon.TraceID{1, 2, 3, 15: 201})
	span.SetSpanID(pcommon.SpanID{8, 7: 2})
	span.TraceState().FromRaw("ot=th:0")
	span.SetStartTimestamp(pcommon.Timestamp(noon))
	span.SetEndTimestamp(pcommon.Timestamp(noon + second))
	a := span.Attributes()
	a.PutStr(methodspan.AttrKind, methodspan.KindAggregate)
	a.PutStr(methodspan.AttrFunction, "shop/codec.Decode")
	a.PutDouble(methodspan.AttrP, 0.5)
	a.PutDouble(methodspan.AttrCPUP, 0.1)
	a.PutStr(methodspan.AttrCPUState, methodspan.CPUExact)
	a.PutInt(methodspan.AttrMeasured, 3)
	a.PutInt(methodspan.AttrErrors, 1)
	a.PutInt(methodspan.AttrCPUMeasured, 2)
	putSums := func(sum, squares, max, bins, counts string, values ...int64) {
		var total, largest int64
		var sq float64
		bs, cs := pcommon.NewSlice(), pcommon.NewSlice()
		for _, v := range values {
			total += v
			sq += float64(v) * float64(v)
			largest = v
			bs.AppendEmpty().SetInt(int64(methodspan.BinOf(float64(v))))
			cs.AppendEmpty().SetDouble(1)
		}
		a.PutInt(sum, total)
		a.PutDouble(squares, sq)
		a.PutInt(max, largest)
		bs.CopyTo(a.PutEmptySlice(bins))
		cs.CopyTo(a.PutEmptySlice(counts))
	}
	putSums(methodspan.AttrWallSum, methodspan.AttrWallSquares, methodspan.AttrWallMax, methodspan.AttrWallBins, methodspan.AttrWallCounts, 10_000, 20_000, 30_000)
	putSums(methodspan.AttrCPUSum, methodspan.AttrCPUSquares, methodspan.AttrCPUMax, methodspan.AttrCPUBins, methodspan.AttrCPUCounts, 1_000, 3_000)
	return span
}

func addProcess(spans ptrace.SpanSlice) ptrace.Span {
	span := spans.AppendEmpty()
	span.SetName("corehour.process")
	span.SetTraceID(pcommon.TraceID{1, 2, 3, 15: 202})
	span.SetSpanID(pcommon.SpanID{8, 7: 3})
	span.TraceState().FromRaw("ot=th:0")
	span.SetStartTimestamp(pcommon.Timestamp(noon))
	span.SetEndTimestamp(pcommon.Timestamp(noon + 60*second))
	a := span.Attributes()
	a.PutStr(methodspan.AttrKind, methodspan.KindProcess)
	a.PutInt(methodspan.AttrCPUTime, 100*second) // more than the wall time: many threads
	a.PutInt(methodspan.AttrProcessCores, 4)
	a.PutInt(methodspan.AttrProcessRSS, 1<<20)
	a.PutBool(methodspan.AttrProcessFinal, false)
	a.PutInt(methodspan.AttrSDKPrefix+"dropped", 7)
	return span
}

// spansOf lists all spans of a request.
func spansOf(td ptrace.Traces) []ptrace.Span {
	var out []ptrace.Span
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				out = append(out, span)
			}
		}
	}
	return out
}

// callsOf adds up the expanded counts by method.
func callsOf(td ptrace.Traces) map[string]int64 {
	out := map[string]int64{}
	for _, span := range spansOf(td) {
		if k, _ := span.Attributes().Get(methodspan.AttrKind); k.Str() != methodspan.KindCounts {
			continue
		}
		name, _ := span.Attributes().Get(methodspan.AttrFunction)
		calls, _ := span.Attributes().Get(methodspan.AttrCalls)
		out[name.Str()] += calls.Int()
	}
	return out
}

func identityOf(span ptrace.Span, scope string) (methodspan.Identity, bool) {
	var parsed methodspan.ParsedSpan
	parsed.Parse(span.Attributes(), methodspan.AllFields)
	return parsed.Identity(span, scope)
}
