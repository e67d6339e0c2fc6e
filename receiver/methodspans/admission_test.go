package methodspans

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configmiddleware"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

const exportMethod = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

// raw sends bytes as they are.
type raw struct{ encoding.CodecV2 }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }
func (raw) Name() string                         { return "proto" }
func emptyResources(n int) []byte                { return bytes.Repeat([]byte{0x0a, 0}, n) }
func (r *rig) dial() *grpc.ClientConn {
	conn, err := grpc.NewClient(r.grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.UseCompressor("gzip")))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, conn.Close()) })
	return conn
}

func zipped(t *testing.T, body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func (r *rig) postZipped(body []byte) (status int, header http.Header, answer string) {
	r.t.Helper()
	request, err := http.NewRequest(http.MethodPost, "http://"+r.httpAddr+"/v1/traces", bytes.NewReader(body))
	require.NoError(r.t, err)
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Content-Encoding", "gzip")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(r.t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	require.NoError(r.t, response.Body.Close())
	return response.StatusCode, response.Header, string(text)
}

// A few kilobytes that would decode to more than a gigabyte are refused before decoding, and
// reserve nothing for later requests.
func TestAdmission_TooLargeRefused(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	bomb := zipped(t, emptyResources(10_000_000))
	require.Less(t, len(bomb), 64<<10)
	code, _, answer := r.postZipped(bomb)
	require.Equal(t, http.StatusBadRequest, code)
	require.Contains(t, answer, "limits::decoding_mib")

	err := r.dial().Invoke(context.Background(), exportMethod, emptyResources(2_000_000), new([]byte))
	require.Equal(t, codes.InvalidArgument, status.Code(err), err)

	deep := []byte{}
	for range 1000 {
		deep = protowire.AppendBytes([]byte{5<<3 | 2}, protowire.AppendBytes([]byte{1<<3 | 2}, deep))
	}
	for _, number := range []byte{2, 1, 1, 1} {
		deep = protowire.AppendBytes([]byte{number<<3 | 2}, deep)
	}
	deep = append(deep, protowire.AppendBytes([]byte{15<<3 | 2}, make([]byte, 1<<20))...) // long enough to be counted
	err = r.dial().Invoke(context.Background(), exportMethod, deep, new([]byte))
	require.Equal(t, codes.InvalidArgument, status.Code(err), err)
	require.ErrorContains(t, err, "nested")

	code, answer = r.post("/v1/traces", "application/json", []byte(`{"resourceSpans":[`+strings.Repeat("{},", 1_000_000)+`{}]}`))
	require.Equal(t, http.StatusBadRequest, code, answer)

	require.Equal(t, map[string]int64{"too_large": 3, "too_deep": 1}, r.counted("refused"))
	require.Empty(t, r.sink.AllTraces())
	require.NoError(t, r.export(batch("a", 1, func(spans ptrace.SpanSlice) { addCall(spans) })))
	require.Len(t, r.sink.AllTraces(), 1)
	require.Empty(t, r.counted("decoding"))
}

// Unfinished bodies reserve at most their sender's half, so that requests over the other protocol
// or from other senders pass.
func TestAdmission_HalfSentBodiesReserveNothing(t *testing.T) {
	r := start(t, testConfig(func(c *Config) { c.Limits.DecodingMiB = 16 }), nil)
	half := zipped(t, make([]byte, 6<<20))
	half = half[:len(half)-64]
	send := func() {
		conn, err := net.Dial("tcp", r.httpAddr)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		_, err = io.WriteString(conn, "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"+
			"Content-Encoding: gzip\r\nContent-Length: 1000000\r\n\r\n"+string(half))
		require.NoError(t, err)
	}
	// The first has its sender's half before the others come. Were they sent at once, each could
	// wait with a part of it for the rest, until all give up.
	send()
	const held = 8<<20 - 4<<10 // 4 KiB, 8 KiB ... 4 MiB
	require.Eventually(t, func() bool { return r.counted("decoding")[""] == held }, time.Minute, 10*time.Millisecond)
	for range 3 {
		send()
	}
	require.Eventually(t, func() bool { return r.counted("refused")["busy"] == 3 }, time.Minute, 10*time.Millisecond)
	require.LessOrEqual(t, r.counted("decoding")[""], int64(8<<20))
	code, header, _ := r.postZipped(zipped(t, make([]byte, 1<<20)))
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "1", header.Get("Retry-After"))
	require.NoError(t, r.export(batch("a", 1, func(spans ptrace.SpanSlice) { addCall(spans) })))
}

// Requests that fit only one at a time are served one after the other, some after a retry.
// Afterwards nothing is reserved.
func TestAdmission_LargeRequestsQueue(t *testing.T) {
	r := start(t, testConfig(func(c *Config) { c.Limits.DecodingMiB = 64 }), nil)
	conn, body := r.dial(), emptyResources(100_000) // 25 MiB by the estimate
	zip := zipped(t, body)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			var err error
			for err = status.Error(codes.Unavailable, ""); status.Code(err) == codes.Unavailable; {
				err = conn.Invoke(context.Background(), exportMethod, body, new([]byte))
			}
			assert.NoError(t, err)
		})
		wg.Go(func() {
			code := http.StatusServiceUnavailable
			for code == http.StatusServiceUnavailable {
				code, _, _ = r.postZipped(zip)
			}
			assert.Equal(t, http.StatusOK, code)
		})
	}
	wg.Wait()
	refused := r.counted("refused")
	delete(refused, "busy")
	require.Empty(t, refused)
	require.Empty(t, r.counted("decoding"))
}

// A request without room gets a retryable error.
func TestAdmission_BusyIsRetryable(t *testing.T) {
	block, entered := make(chan struct{}), make(chan struct{}, 1)
	next := consume(func(ptrace.Traces) error {
		select {
		case entered <- struct{}{}:
			<-block
		default:
		}
		return nil
	})
	r := start(t, testConfig(func(c *Config) { c.Limits.GRPCRequests = 1 }), next)
	done := make(chan error, 1)
	go func() { done <- r.export(batch("a", 1, func(spans ptrace.SpanSlice) { addCall(spans) })) }()
	require.Eventually(t, func() bool { return len(entered) == 1 }, time.Minute, time.Millisecond)
	err := r.export(batch("b", 1, func(spans ptrace.SpanSlice) { addCall(spans) }))
	require.Equal(t, codes.Unavailable, status.Code(err), err)
	close(block)
	require.NoError(t, <-done)
	require.Equal(t, map[string]int64{"busy": 1}, r.counted("refused"))
	// The server ends a request after it has answered it, so the next may come before that.
	require.Eventually(t, func() bool {
		return r.export(batch("b", 1, func(spans ptrace.SpanSlice) { addCall(spans) })) == nil
	}, time.Minute, time.Millisecond)
}

// Configured middlewares stay, before the gate.
func TestGated_KeepsConfiguredMiddlewares(t *testing.T) {
	id := component.MustNewID("mine")
	mine := &middleware{}
	config := testConfig(func(c *Config) {
		c.Protocols.HTTP.Get().ServerConfig.Middlewares = []configmiddleware.Config{{ID: id}}
	})
	r := startWith(t, config, nil, extended{componenttest.NewNopHost(), map[component.ID]component.Component{id: mine}})
	code, _, _ := r.postZipped(zipped(t, emptyResources(1)))
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, 1, mine.calls)
}

type extended struct {
	component.Host
	extensions map[component.ID]component.Component
}

func (h extended) GetExtensions() map[component.ID]component.Component { return h.extensions }

type middleware struct {
	component.StartFunc
	component.ShutdownFunc
	calls int
}

func (m *middleware) GetHTTPHandler(context.Context) (extensionmiddleware.WrapHTTPHandlerFunc, error) {
	return func(_ context.Context, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.calls++; next.ServeHTTP(w, r) }), nil
	}, nil
}
