package methodspans

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/corehour/corehour/internal/partialsuccess"
)

// The three encodings of OTLP mean the same.
func TestReceiver_Protocols(t *testing.T) {
	request := func(seq int64) ptraceotlp.ExportRequest {
		return ptraceotlp.NewExportRequestFromTraces(batch("a", seq, func(spans ptrace.SpanSlice) {
			addCall(spans)
			addCounts(spans, "a.b", 3)
		}))
	}
	r := start(t, testConfig(nil), nil)
	require.NoError(t, r.export(request(1).Traces()))

	proto, err := request(2).MarshalProto()
	require.NoError(t, err)
	code, answer := r.post("/v1/traces", "application/x-protobuf", proto)
	require.Equal(t, 200, code, answer)

	json, err := request(3).MarshalJSON()
	require.NoError(t, err)
	code, answer = r.post("/v1/traces", "application/json", json)
	require.Equal(t, 200, code, answer)

	all := r.sink.AllTraces()
	require.Len(t, all, 3)
	for _, td := range all[1:] {
		assert.Equal(t, spansOf(all[0]), spansOf(td))
	}
}

// The answer to a request names the dropped spans, and those that a component of the pipeline refuses.
func TestReceiver_PartialSuccess(t *testing.T) {
	next, err := consumer.NewTraces(func(ctx context.Context, _ ptrace.Traces) error {
		partialsuccess.Add(ctx, 2, "too_late: 2 rows")
		return nil
	})
	require.NoError(t, err)
	r := start(t, testConfig(nil), next)
	request := func(seq int64) ptraceotlp.ExportRequest {
		return ptraceotlp.NewExportRequestFromTraces(batch("a", seq, func(spans ptrace.SpanSlice) {
			addCall(spans)
			times(noon, noon-1)(addCall(spans))
		}))
	}
	check := func(response ptraceotlp.ExportResponse) {
		t.Helper()
		assert.EqualValues(t, 3, response.PartialSuccess().RejectedSpans())
		assert.Equal(t, "time_reversed: dropped 1; too_late: 2 rows", response.PartialSuccess().ErrorMessage())
	}

	response, err := r.client.Export(t.Context(), request(1))
	require.NoError(t, err)
	check(response)

	proto, err := request(2).MarshalProto()
	require.NoError(t, err)
	code, answer := r.post("/v1/traces", "application/x-protobuf", proto)
	require.Equal(t, 200, code, answer)
	response = ptraceotlp.NewExportResponse()
	require.NoError(t, response.UnmarshalProto([]byte(answer)))
	check(response)

	json, err := request(3).MarshalJSON()
	require.NoError(t, err)
	code, answer = r.post("/v1/traces", "application/json", json)
	require.Equal(t, 200, code, answer)
	response = ptraceotlp.NewExportResponse()
	require.NoError(t, response.UnmarshalJSON([]byte(answer)))
	check(response)
}

func TestReceiver_TracesOnly(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	code, _ := r.post("/v1/metrics", "application/json", []byte("{}"))
	assert.Equal(t, 404, code)
	code, _ = r.post("/v1/logs", "application/json", []byte("{}"))
	assert.Equal(t, 404, code)
	code, answer := r.post("/v1/traces", "application/json", []byte("{"))
	assert.Equal(t, 400, code, answer)
	set := receivertest.NewNopSettings(NewFactory().Type())
	_, err := NewFactory().CreateMetrics(context.Background(), set, testConfig(nil), consumertest.NewNop())
	assert.ErrorIs(t, err, pipeline.ErrSignalNotSupported)
}

// Options of the stock receiver work, such as its size limits.
func TestReceiver_RequestSizes(t *testing.T) {
	r := start(t, testConfig(func(c *Config) {
		c.Protocols.GRPC.Get().MaxRecvMsgSizeMiB = 1
		c.Protocols.HTTP.Get().ServerConfig.MaxRequestBodySize = 1000
	}), nil)
	large := batch("a", 1, func(spans ptrace.SpanSlice) {
		addCall(spans).Attributes().PutStr("padding", strings.Repeat("x", 2<<20))
	})
	assert.Equal(t, codes.ResourceExhausted, status.Code(r.export(large)))
	code, _ := r.post("/v1/traces", "application/json", []byte(strings.Repeat(" ", 2000)))
	assert.Equal(t, 400, code)
	assert.NoError(t, r.export(counts("a", 1)))
}

// The status code decides whether the sender retries.
func TestReceiver_ErrorsReachSender(t *testing.T) {
	for want, failure := range map[codes.Code]error{
		codes.Unavailable:       errDown,
		codes.Internal:          consumererror.NewPermanent(errDown),
		codes.ResourceExhausted: status.Error(codes.ResourceExhausted, "later"),
	} {
		r := start(t, testConfig(nil), consumertest.NewErr(failure))
		assert.Equal(t, want, status.Code(r.export(counts("a", 1))))
	}
}

// Two receivers of one type run with their own servers and their own memory.
func TestReceiver_TwoInstances(t *testing.T) {
	config := testConfig(nil)
	one, two := start(t, config, nil), start(t, config, nil)
	assert.NotEqual(t, one.grpcAddr, two.grpcAddr)
	require.NoError(t, one.export(counts("a", 1)))
	require.NoError(t, two.export(counts("a", 1)))
	assert.Len(t, one.sink.AllTraces(), 1)
	assert.Len(t, two.sink.AllTraces(), 1)
}

func TestReceiver_PortInUse(t *testing.T) {
	first := start(t, testConfig(nil), nil)
	for _, config := range []*Config{
		testConfig(func(c *Config) { c.Protocols.GRPC.Get().NetAddr.Endpoint = first.grpcAddr }),
		testConfig(func(c *Config) { c.Protocols.HTTP.Get().ServerConfig.NetAddr.Endpoint = first.httpAddr }),
	} {
		set := receivertest.NewNopSettings(NewFactory().Type())
		second, err := NewFactory().CreateTraces(context.Background(), set, config, consumertest.NewNop())
		require.NoError(t, err)
		assert.ErrorContains(t, second.Start(context.Background(), componenttest.NewNopHost()), "address already in use")
		assert.NoError(t, second.Shutdown(context.Background()))
		assert.NoError(t, second.Shutdown(context.Background()), "twice")
	}
}

func TestReceiver_StockIDNamesInstance(t *testing.T) {
	set := receivertest.NewNopSettings(NewFactory().Type())
	set.ID = component.NewIDWithName(NewFactory().Type(), "edge")
	assert.Equal(t, "otlp/method_spans/edge", stockSettings(set, component.MustNewType("otlp")).ID.String())
}

// numberedGenerator sends spans as the corehour SDK does, with retries until they are accepted or
// permanently refused.
type numberedGenerator struct {
	t      *testing.T
	addr   string
	seq    atomic.Int64
	conn   *grpc.ClientConn
	client ptraceotlp.GRPCClient
}

func (g *numberedGenerator) Start() {
	var err error
	g.conn, err = grpc.NewClient(g.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(g.t, err)
	g.client = ptraceotlp.NewGRPCClient(g.conn)
	g.seq.Store(0)
}

func (g *numberedGenerator) Stop() { require.NoError(g.t, g.conn.Close()) }

func (g *numberedGenerator) Generate() []receivertest.UniqueIDAttrVal {
	seq := g.seq.Add(1)
	id := fmt.Sprint(seq)
	td := batch("a", seq, func(spans ptrace.SpanSlice) {
		addCall(spans).Attributes().PutStr(receivertest.UniqueIDAttrName, id)
	})
	for {
		_, err := g.client.Export(context.Background(), ptraceotlp.NewExportRequestFromTraces(td))
		if err == nil || status.Code(err) == codes.Internal {
			return []receivertest.UniqueIDAttrVal{receivertest.UniqueIDAttrVal(id)}
		}
	}
}

func TestReceiver_ConsumeContract(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "grpc") // no port to find, none to lose to another process
	config := testConfig(func(c *Config) {
		c.Protocols.GRPC.Get().NetAddr.Transport = confignet.TransportTypeUnix
		c.Protocols.GRPC.Get().NetAddr.Endpoint = socket
	})
	receivertest.CheckConsumeContract(receivertest.CheckConsumeContractParams{
		T:             t,
		Factory:       NewFactory(),
		Signal:        pipeline.SignalTraces,
		Config:        config,
		Generator:     &numberedGenerator{t: t, addr: "unix://" + socket},
		GenerateCount: 500,
	})
}

// The receiver does not wait for the rest of an incomplete request.
func TestReceiver_HalfSentRequests(t *testing.T) {
	r := start(t, testConfig(func(c *Config) { c.Protocols.HTTP.Get().ServerConfig.ReadTimeout = 300 * time.Millisecond }), nil)
	for name, text := range map[string]string{
		"header": "POST /v1/traces HTTP/1.1\r\nHost: x\r\n",
		"body":   "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 1000\r\n\r\nabc",
	} {
		conn, err := net.Dial("tcp", r.httpAddr)
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
		_, err = io.ReadAll(conn)
		assert.NoError(t, err, "%s: the connection is closed", name)
	}
	assert.Len(t, spansOf(r.receive(batch("a", 1, func(spans ptrace.SpanSlice) { addCall(spans) }))), 1)
}
