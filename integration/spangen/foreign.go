package spangen

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Foreign returns a request of a stock SDK with n spans, in traces of perTrace spans. Its sampler
// kept all of them, which the spans do not show.
func Foreign(r *rand.Rand, service string, n, perTrace int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	for name, value := range map[string]string{
		"service.name": service, "service.version": "1.0", "service.instance.id": service + "-1",
		"telemetry.sdk.name": "opentelemetry", "telemetry.sdk.language": "go",
	} {
		rs.Resource().Attributes().PutStr(name, value)
	}
	scope := rs.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("bench")
	scope.Spans().EnsureCapacity(n)
	for i := range n {
		span := scope.Spans().AppendEmpty()
		name := Method(r.IntN(methods))
		span.SetName(name)
		span.SetKind(ptrace.SpanKindInternal)
		span.Attributes().PutStr("code.function.name", name)
		span.Attributes().PutInt("order.items", int64(i))
	}
	Redraw(td, r, perTrace)
	return td
}

// Redraw gives the spans of a request new traces that end now. The first span of each is its root
// and the parent of the others.
func Redraw(td ptrace.Traces, r *rand.Rand, perTrace int) {
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	now := time.Now().UnixNano()
	var trace pcommon.TraceID
	var root pcommon.SpanID
	for i := range spans.Len() {
		var id pcommon.SpanID
		binary.LittleEndian.PutUint64(id[:], r.Uint64()|1)
		parent := root
		if i%perTrace == 0 {
			binary.LittleEndian.PutUint64(trace[:], r.Uint64()|1)
			binary.LittleEndian.PutUint64(trace[8:], r.Uint64())
			root, parent = id, pcommon.NewSpanIDEmpty()
		}
		span := spans.At(i)
		span.SetTraceID(trace)
		span.SetSpanID(id)
		span.SetParentSpanID(parent)
		span.SetStartTimestamp(pcommon.Timestamp(now - int64(20_000+r.IntN(20_000))))
		span.SetEndTimestamp(pcommon.Timestamp(now))
	}
}
