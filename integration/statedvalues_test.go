package integration

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// TestStatedCPU_OtherClientsHaveCosts proves that CPU time measured by a client of another language
// is counted: spans of its OpenTelemetry SDK with corehour.cpu.time and a probability, and calls of
// a client that sends no counts. Each client keeps a quarter of its calls; its own record is the
// truth.
func TestStatedCPU_OtherClientsHaveCosts(t *testing.T) {
	t.Parallel()
	const calls, p = 8000, 0.25
	p1 := startPipeline(t, quickWarehouse)
	start := time.Now().Add(-time.Minute)
	random := rand.New(rand.NewPCG(22, 4))
	truth := map[string]float64{} // core-hours by service
	for service, fill := range map[string]func(ptrace.Span){
		"by-threshold": func(s ptrace.Span) { s.TraceState().FromRaw("ot=th:c;rv:ffffffffffffff") },
		"by-p":         func(s ptrace.Span) { s.Attributes().PutDouble("corehour.p", p) },
		"no-counts": func(s ptrace.Span) {
			s.Attributes().PutStr("corehour.kind", "call")
			s.Attributes().PutDouble("corehour.p", p)
			s.Attributes().PutDouble("corehour.cpu.p", 1)
		},
	} {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		for name, value := range map[string]string{"service.name": service, "service.version": "1.0", "service.instance.id": "a"} {
			rs.Resource().Attributes().PutStr(name, value)
		}
		spans := rs.ScopeSpans().AppendEmpty().Spans()
		for i := range calls {
			cpu := time.Duration(1+random.IntN(4)) * time.Millisecond
			truth[service] += cpu.Hours()
			if random.Float64() >= p {
				continue
			}
			span := spans.AppendEmpty()
			span.SetName("charge")
			span.SetTraceID(pcommon.TraceID{1, byte(i), byte(i >> 8), 15: 1})
			span.SetSpanID(pcommon.SpanID{1, byte(i), byte(i >> 8)})
			at := start.Add(time.Duration(i) * time.Millisecond)
			span.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
			span.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(2 * cpu)))
			span.Attributes().PutStr("code.function.name", "com.shop.Card.charge")
			span.Attributes().PutInt("corehour.cpu.time", cpu.Nanoseconds())
			fill(span)
		}
		p1.send(t, request{Traces: td})
	}
	p1.stop(t)
	for service, hours := range truth {
		costs, err := p1.command.Cost(t.Context(), "--service", service)
		if err != nil {
			t.Fatal(err)
		}
		if len(costs.Methods) != 1 || costs.Methods[0].InclusiveCoreHours == nil || costs.Methods[0].SelfCoreHours == nil {
			t.Errorf("%s has no costs: %+v", service, costs)
			continue
		}
		m := costs.Methods[0]
		// A share p of n calls of 1 to 4 ms is kept: mean 2.5 ms, mean square 7.5 ms^2.
		allowed := 5 * math.Sqrt(calls*(1-p)/p*7.5) / 3.6e6
		if m.Class != "com.shop.Card" || m.Method != "charge" || math.Abs(*m.InclusiveCoreHours-hours) > allowed {
			t.Errorf("%s: %s.%s took %v core hours, the client says %v, allowed are %v of difference", service, m.Class, m.Method, *m.InclusiveCoreHours, hours, allowed)
		}
	}
}
