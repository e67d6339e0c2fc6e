package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	batchSpans = 1000
	methods    = 300
	p, cpuP    = 0.05, 0.5
)

// batch is a request as our SDK sends it: 1,000 measurements of 8 attributes.
// Stock and own collector receive the very same bytes but for the number.
func batch(r *rand.Rand, seq int64) ptraceotlp.ExportRequest {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	resource := rs.Resource().Attributes()
	resource.PutStr("service.name", "bench")
	resource.PutStr("service.version", "1.0")
	resource.PutStr("service.instance.id", "bench-1")
	resource.PutStr("deployment.environment.name", "bench")
	resource.PutStr("host.name", "host")
	resource.PutStr("process.creation.time", time.Now().UTC().Format("2006-01-02T15:04:00Z"))
	scope := rs.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("github.com/corehour/corehour/sdk")
	scope.Scope().Attributes().PutInt("corehour.batch.seq", seq)
	scope.Scope().Attributes().PutInt("corehour.calls.total", 0)

	const threshold = 0xf3333333333333 // rejects 1 - p of 2^56
	now := time.Now().UnixNano()
	spans := scope.Spans()
	spans.EnsureCapacity(batchSpans)
	for i := range batchSpans {
		wall := int64(20_000 * math.Exp(r.NormFloat64()))
		method := int(math.Pow(r.Float64(), 3) * methods) // a few methods have most calls
		span := spans.AppendEmpty()
		name := fmt.Sprintf("shop/package%d.(*Type%d).Method%d", method%17, method%5, method)
		span.SetName(name)
		span.SetKind(ptrace.SpanKindInternal)
		span.SetStartTimestamp(pcommon.Timestamp(now - wall - int64(i)*1000))
		span.SetEndTimestamp(pcommon.Timestamp(now - int64(i)*1000))
		var trace [16]byte
		var id [8]byte
		for j := range trace {
			trace[j] = byte(r.Uint32())
		}
		for j := range id {
			id[j] = byte(r.Uint32())
		}
		span.SetTraceID(trace)
		span.SetSpanID(id)
		span.TraceState().FromRaw(fmt.Sprintf("ot=th:%x;rv:%014x", threshold, threshold+r.Uint64N(1<<56-threshold)))
		attributes := span.Attributes()
		attributes.PutStr("corehour.kind", "call")
		attributes.PutStr("code.function.name", name)
		attributes.PutDouble("corehour.p", p)
		attributes.PutDouble("corehour.cpu.p", cpuP)
		attributes.PutStr("corehour.caller", "shop/web.Handler.Checkout")
		attributes.PutStr("corehour.ids", "synthetic")
		if i%2 == 0 {
			attributes.PutStr("corehour.cpu.state", "exact")
			attributes.PutInt("corehour.cpu.time", wall*4/5)
		} else {
			attributes.PutStr("corehour.cpu.state", "not_sampled")
			attributes.PutStr("corehour.group", "worker")
		}
	}
	return ptraceotlp.NewExportRequestFromTraces(td)
}

// send sends spans in batches, each acknowledged before the next, at a rate that
// leaves a collector time to write: a full queue would fold what is to be measured.
func send(ctx context.Context, endpoint string, spans, perSecond int) error {
	connection, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	client := ptraceotlp.NewGRPCClient(connection)

	r := rand.New(rand.NewPCG(1, 2))
	// A pool of requests is enough; each travels with a number of its own.
	pool := make([]ptraceotlp.ExportRequest, 20)
	for i := range pool {
		pool[i] = batch(r, 1)
	}
	start := time.Now()
	for n := range (spans + batchSpans - 1) / batchSpans {
		due := start.Add(time.Duration(float64(n*batchSpans) / float64(perSecond) * float64(time.Second)))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(due)):
		}
		request := pool[n%len(pool)]
		request.Traces().ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutInt("corehour.batch.seq", int64(n+1))
		answer, err := client.Export(ctx, request)
		if err != nil {
			return fmt.Errorf("request %d: %w", n+1, err)
		}
		if refused := answer.PartialSuccess().RejectedSpans(); refused > 0 {
			return fmt.Errorf("request %d: %d spans refused", n+1, refused)
		}
	}
	return nil
}
