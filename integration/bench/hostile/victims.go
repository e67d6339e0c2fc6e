package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/corehour/corehour/integration/harness"
)

// Addresses of the senders.
const (
	victimAddress   = "127.0.0.1"
	attackerAddress = "127.0.0.2"
)

const (
	minutes         = 14
	recordsEach     = 4 // per minute and process: fewer than the sampler keeps of any sender
	forgedCalls     = 300
	stockSpans      = 200
	victimNamespace = "store"
	victim          = "shop"
	forgedVictim    = "billing"
	stockVictim     = "web"
)

func dialFrom(address string) func(context.Context, string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return func(ctx context.Context, to string) (net.Conn, error) { return d.DialContext(ctx, "tcp", to) }
}

func clientFrom(address, to string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+to, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dialFrom(address)))
}

func httpFrom(address string) *http.Client {
	dial := dialFrom(address)
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, to string) (net.Conn, error) { return dial(ctx, to) }}, Timeout: time.Minute}
}

// sendVictims runs the services: they send the same requests in every play.
func sendVictims(ctx context.Context, c *harness.Collector, end time.Time, attack *attack) error {
	connection, err := clientFrom(victimAddress, c.GRPC)
	if err != nil {
		return err
	}
	defer connection.Close()
	client := ptraceotlp.NewGRPCClient(connection)
	if err := meetStock(ctx, c, client); err != nil {
		return err
	}
	if attack != nil {
		if err := attack.forge(ctx, c); err != nil {
			return err
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	seq := map[string]int64{}
	calls := map[string]int64{}
	for minute := range minutes {
		for process := range 4 {
			if err := export(ctx, client, shopRequest(r, end, minute, process, seq, calls)); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	for n := range int64(20) {
		if err := export(ctx, client, billingRequest(end, n+1, 15)); err != nil {
			return err
		}
	}
	return sendStock(ctx, client, r, "1.0", stockSpans)
}

// export retries requests that the collector has no room for, as SDKs do.
func export(ctx context.Context, client ptraceotlp.GRPCClient, td ptrace.Traces) (err error) {
	for range 20 {
		if _, err = client.Export(ctx, ptraceotlp.NewExportRequestFromTraces(td)); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
	return err
}

func newRequest(service, version, instance, host string, started time.Time, seq, total int64) (ptrace.Traces, ptrace.SpanSlice) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	resource := rs.Resource().Attributes()
	resource.PutStr("service.namespace", victimNamespace)
	resource.PutStr("service.name", service)
	resource.PutStr("service.version", version)
	resource.PutStr("service.instance.id", instance)
	resource.PutStr("deployment.environment.name", "prod")
	resource.PutStr("host.name", host)
	resource.PutStr("process.creation.time", started.UTC().Format(time.RFC3339Nano))
	scope := rs.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("github.com/corehour/corehour/sdk")
	scope.Scope().Attributes().PutStr("corehour.process.id", "id of "+service+instance)
	scope.Scope().Attributes().PutInt("corehour.batch.seq", seq)
	scope.Scope().Attributes().PutInt("corehour.calls.total", total)
	return td, scope.Spans()
}

func newSpan(spans ptrace.SpanSlice, kind string, id uint64, start, end time.Time) ptrace.Span {
	span := spans.AppendEmpty()
	span.SetName(kind)
	for i := range 8 {
		b := byte(id >> (8 * i))
		traceID, spanID := span.TraceID(), span.SpanID()
		traceID[i], traceID[15-i], spanID[i] = b, b, b
		span.SetTraceID(traceID)
		span.SetSpanID(spanID)
	}
	span.TraceState().FromRaw("ot=th:0")
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(start))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(end))
	span.Attributes().PutStr("corehour.kind", kind)
	span.Attributes().PutStr("corehour.ids", "synthetic")
	return span
}

func addCounts(spans ptrace.SpanSlice, id uint64, start, end time.Time, methods []string, calls int64) {
	span := newSpan(spans, "counts", id, start, end)
	names := span.Attributes().PutEmptySlice("corehour.counts.methods")
	counts := span.Attributes().PutEmptySlice("corehour.counts.calls")
	for _, method := range methods {
		names.AppendEmpty().SetStr(method)
		counts.AppendEmpty().SetInt(calls)
	}
}

func addProcess(spans ptrace.SpanSlice, id uint64, start, end time.Time, cpu time.Duration, final bool) {
	span := newSpan(spans, "process", id, start, end)
	span.Attributes().PutInt("corehour.cpu.time", int64(cpu))
	span.Attributes().PutInt("corehour.process.cores", 2)
	span.Attributes().PutInt("corehour.process.rss", 1<<26)
	span.Attributes().PutBool("corehour.process.final", final)
}

// shopRequest returns a minute of one of four processes. Two of them have a version whose Total
// costs half as much again.
func shopRequest(r *rand.Rand, end time.Time, minute, process int, seq, total map[string]int64) ptrace.Traces {
	methods := []string{"shop/cart.(*Cart).Total", "shop/price.Lookup", "shop/stock.Reserve", "shop/web.Handler.Pay"}
	from := end.Add(time.Duration(minute-minutes) * time.Minute)
	version, instance := "1.0", fmt.Sprint("pod-", process)
	if process >= 2 {
		version = "1.1"
	}
	const calls = 100
	seq[instance]++
	total[instance] += calls * int64(len(methods))
	td, spans := newRequest(victim, version, instance, "victim-host", end.Add(-time.Hour), seq[instance], total[instance])
	var used time.Duration
	for range recordsEach {
		for i, method := range methods {
			cpu := time.Duration(1e6 * (1 + 0.2*r.Float64()) * float64(i+1))
			if i == 0 && process >= 2 {
				cpu = cpu * 3 / 2
			}
			start := from.Add(time.Duration(r.IntN(50_000)) * time.Millisecond)
			span := newSpan(spans, "call", r.Uint64()|1, start, start.Add(cpu+time.Duration(r.IntN(1e6))))
			span.SetName(method)
			a := span.Attributes()
			a.PutStr("code.function.name", method)
			a.PutDouble("corehour.p", float64(recordsEach)/calls)
			a.PutDouble("corehour.cpu.p", 1)
			a.PutInt("corehour.cpu.time", int64(cpu))
			a.PutStr("corehour.cpu.state", "exact")
			a.PutStr("corehour.caller", "(entry)")
			rv := uint64(float64(1<<56)*(1-float64(recordsEach)/calls)) + r.Uint64N(1<<50)
			span.TraceState().FromRaw(fmt.Sprintf("ot=th:f5c28f5c28f5c3;rv:%014x", max(rv, 0xf5c28f5c28f5c3)))
			used += cpu * calls / recordsEach
		}
	}
	addCounts(spans, r.Uint64()|1, from, from.Add(time.Minute), methods, calls)
	addProcess(spans, r.Uint64()|1, from, from.Add(time.Minute), used*11/10, minute == minutes-1)
	return td
}

// billingRequest returns a request of the process whose numbers are forged.
func billingRequest(end time.Time, seq, calls int64) ptrace.Traces {
	td, spans := newRequest(forgedVictim, "1.0", "pod-0", "victim-host", end.Add(-time.Hour), seq, seq*calls)
	from := end.Add(time.Duration(seq-30) * time.Minute)
	addCounts(spans, uint64(1_000_000+seq), from, from.Add(time.Minute), []string{"billing/invoice.Make"}, calls)
	addProcess(spans, uint64(2_000_000+seq), from, from.Add(time.Minute), time.Second, seq == 20)
	return td
}

// sendStock sends roots that a ratio sampler has kept at a tenth, as configured.
func sendStock(ctx context.Context, client ptraceotlp.GRPCClient, r *rand.Rand, version string, n int) error {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	resource := rs.Resource().Attributes()
	resource.PutStr("service.name", stockVictim)
	resource.PutStr("service.version", version)
	resource.PutStr("service.instance.id", "web-0")
	resource.PutStr("telemetry.sdk.name", "opentelemetry")
	resource.PutStr("telemetry.sdk.language", "go")
	scope := rs.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("web.server")
	for range n {
		span := scope.Spans().AppendEmpty()
		span.SetName("GET /page")
		span.SetKind(ptrace.SpanKindServer)
		var trace [16]byte
		var id [8]byte
		for i := range 8 {
			trace[i], trace[8+i], id[i] = byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())
		}
		trace[8] = byte(r.IntN(25)) // below a tenth of 2^64, as the sampler of Go keeps
		id[0] |= 1
		span.SetTraceID(trace)
		span.SetSpanID(id)
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-20 * time.Millisecond)))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now()))
	}
	return export(ctx, client, td)
}

// meetStock sends a few roots and asks for rates until the service has its own.
func meetStock(ctx context.Context, c *harness.Collector, client ptraceotlp.GRPCClient) error {
	if err := sendStock(ctx, client, rand.New(rand.NewPCG(3, 4)), "0.9", 20); err != nil {
		return err
	}
	return harness.Await(ctx, 3*time.Minute, "the rate of the stock SDK", func(ctx context.Context) (bool, error) {
		strategies, err := c.Strategies(ctx, stockVictim)
		return strategies["GET /page"] == 0.1, err
	})
}
