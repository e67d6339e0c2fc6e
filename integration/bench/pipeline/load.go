package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/corehour/corehour/integration/spangen"
)

const (
	batchSpans    = 1000
	spansPerTrace = 5 // of a stock SDK
)

// batch returns a request like our SDK's: 1,000 measurements of 8 attributes. The stock collector
// and ours receive the same bytes except for the batch number.
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

	spans := scope.Spans()
	spans.EnsureCapacity(batchSpans)
	for i := range batchSpans {
		spangen.Call(spans.AppendEmpty(), r, i)
	}
	return ptraceotlp.NewExportRequestFromTraces(td)
}

// send sends spans in batches, each acknowledged before the next, at a rate that leaves the
// collector time to write: a full queue would aggregate them.
func send(ctx context.Context, endpoint string, spans, perSecond int, foreign bool) error {
	connection, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	client := ptraceotlp.NewGRPCClient(connection)

	r := rand.New(rand.NewPCG(1, 2))
	// A pool of requests is enough; each is sent with its own number.
	pool := make([]ptraceotlp.ExportRequest, 20)
	for i := range pool {
		if foreign {
			pool[i] = ptraceotlp.NewExportRequestFromTraces(spangen.Foreign(r, "bench", batchSpans, spansPerTrace))
		} else {
			pool[i] = batch(r, 1)
		}
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
		if foreign {
			spangen.Redraw(request.Traces(), r, spansPerTrace)
		} else {
			request.Traces().ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutInt("corehour.batch.seq", int64(n+1))
		}
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
