package main

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/corehour/corehour/integration/spangen"
)

const (
	batchSpans      = 1000
	countsPerMethod = 2000
)

// process stands for a process with our SDK: 1,000 measurements per request and their calls. It
// sends the same measurements repeatedly, with new numbers.
type process struct {
	client ptraceotlp.GRPCClient
	tally  *sentCounts
	usual  ptraceotlp.ExportRequest
	last   ptraceotlp.ExportRequest
	seq    int64
	calls  int64 // emitted so far
	sent   int64 // measurements of the request in flight
}

func newProcess(r *rand.Rand, number int, client ptraceotlp.GRPCClient, t *sentCounts) *process {
	p := &process{client: client, tally: t}
	request, spans := newRequest(number)
	for i := range batchSpans {
		spangen.Call(spans.AppendEmpty(), r, i)
	}
	addCounts(spans.AppendEmpty())
	p.usual = request
	request, spans = newRequest(number)
	span := spans.AppendEmpty()
	span.SetName("process")
	span.Attributes().PutStr("corehour.kind", "process")
	span.Attributes().PutInt("corehour.cpu.time", 1)
	span.Attributes().PutDouble("corehour.process.cores", 1)
	span.Attributes().PutInt("corehour.process.rss", 1<<20)
	span.Attributes().PutBool("corehour.process.final", true)
	p.last = request
	return p
}

// next returns the next request of the process, or its last.
func (p *process) next(last bool) ptraceotlp.ExportRequest {
	p.seq++
	request := p.usual
	if p.sent = batchSpans; last {
		request, p.sent = p.last, 0
		span := request.Traces().ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-time.Second)))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now()))
	} else {
		p.calls += countsPerMethod * countedMethods
	}
	scope := request.Traces().ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes()
	scope.PutInt("corehour.batch.seq", p.seq)
	scope.PutInt("corehour.calls.total", p.calls)
	return request
}

// accepted records that the request in flight was accepted.
func (p *process) accepted() {
	atomic.AddInt64(&p.tally.measured, p.sent)
	if p.sent > 0 {
		atomic.AddInt64(&p.tally.calls, countsPerMethod*countedMethods)
	}
}

var processStart = time.Now()

func newRequest(number int) (ptraceotlp.ExportRequest, ptrace.SpanSlice) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	resource := rs.Resource().Attributes()
	resource.PutStr("service.name", fmt.Sprintf("soak-%d", number%8))
	resource.PutStr("service.version", "1.0")
	resource.PutStr("service.instance.id", fmt.Sprintf("soak-%d", number))
	resource.PutStr("deployment.environment.name", "soak")
	resource.PutStr("process.creation.time", processStart.UTC().Format(time.RFC3339Nano))
	scope := rs.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("github.com/corehour/corehour/sdk")
	scope.Spans().EnsureCapacity(batchSpans + 1)
	return ptraceotlp.NewExportRequestFromTraces(td), scope.Spans()
}

// countedMethods is the number of methods in a counts span.
const countedMethods = 10

func addCounts(span ptrace.Span) {
	span.SetName("counts")
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-time.Second)))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now()))
	span.Attributes().PutStr("corehour.kind", "counts")
	names := span.Attributes().PutEmptySlice("corehour.counts.methods")
	calls := span.Attributes().PutEmptySlice("corehour.counts.calls")
	for i := range countedMethods {
		names.AppendEmpty().SetStr(spangen.Method(i))
		calls.AppendEmpty().SetInt(countsPerMethod)
	}
}
