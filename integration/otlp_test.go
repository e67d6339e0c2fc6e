package integration

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// request is an OTLP request of our SDK, built by hand so that tests can put anything into it.
type request struct {
	ptrace.Traces
	spans ptrace.SpanSlice
}

func newRequest(resource map[string]string, seq, callsTotal int64) request {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	for name, value := range resource {
		rs.Resource().Attributes().PutStr(name, value)
	}
	scope := rs.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("github.com/corehour/corehour/sdk")
	scope.Scope().Attributes().PutInt("corehour.batch.seq", seq)
	scope.Scope().Attributes().PutInt("corehour.calls.total", callsTotal)
	return request{td, scope.Spans()}
}

func (r request) span(kind string, start, end time.Time) ptrace.Span {
	span := r.spans.AppendEmpty()
	span.SetName(kind)
	span.SetKind(ptrace.SpanKindInternal)
	span.SetTraceID(pcommon.TraceID{1})
	span.SetSpanID(pcommon.SpanID{byte(r.spans.Len()), byte(r.spans.Len() >> 8), 1})
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(start))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(end))
	span.Attributes().PutStr("corehour.kind", kind)
	return span
}

// call adds a measured call; texts are further attributes.
func (r request) call(start time.Time, cpu time.Duration, texts map[string]string) {
	span := r.span("call", start, start.Add(2*cpu))
	span.Attributes().PutDouble("corehour.p", 1)
	span.Attributes().PutDouble("corehour.cpu.p", 1)
	span.Attributes().PutStr("corehour.cpu.state", "exact")
	span.Attributes().PutInt("corehour.cpu.time", cpu.Nanoseconds())
	for name, value := range texts {
		span.Attributes().PutStr(name, value)
	}
}

func (r request) counts(start, end time.Time, calls map[string]int64) {
	span := r.span("counts", start, end)
	methods, numbers := span.Attributes().PutEmptySlice("corehour.counts.methods"), span.Attributes().PutEmptySlice("corehour.counts.calls")
	for name, n := range calls {
		methods.AppendEmpty().SetStr(name)
		numbers.AppendEmpty().SetInt(n)
	}
}

func (r request) process(start, end time.Time, final bool) {
	span := r.span("process", start, end)
	span.Attributes().PutInt("corehour.cpu.time", int64(time.Second))
	span.Attributes().PutDouble("corehour.process.cores", 1)
	span.Attributes().PutBool("corehour.process.final", final)
}

// send posts a request and asserts that it is accepted.
func (p *pipeline) send(t *testing.T, r request) {
	t.Helper()
	body, err := ptraceotlp.NewExportRequestFromTraces(r.Traces).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(p.Endpoint()+"/v1/traces", "application/x-protobuf", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	response := ptraceotlp.NewExportResponse()
	if err := response.UnmarshalProto(text); err != nil || answer.StatusCode != http.StatusOK || response.PartialSuccess().RejectedSpans() != 0 {
		t.Fatalf("%s: %q, %v", answer.Status, text, err)
	}
}
