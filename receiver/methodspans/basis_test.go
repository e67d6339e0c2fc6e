package methodspans

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/corehour/corehour/internal/methodspan"
)

type probabilityOf struct {
	p     float64
	basis string
}

// stamped returns the written probabilities and bases, by span name.
func stamped(td ptrace.Traces) map[string]probabilityOf {
	got := map[string]probabilityOf{}
	for _, span := range spansOf(td) {
		p, _ := span.Attributes().Get(methodspan.AttrP)
		basis, _ := span.Attributes().Get(methodspan.AttrWeightBasis)
		got[span.Name()] = probabilityOf{p.Double(), basis.Str()}
	}
	return got
}

// spanOf is a span whose trace's last 56 bits are half of all.
func spanOf(spans ptrace.SpanSlice, trace, id, parent byte, name, state string) ptrace.Span {
	span := addForeign(spans, id, parent)
	span.SetTraceID(pcommon.TraceID{trace, 9: 0x80})
	span.SetName(name)
	span.TraceState().FromRaw(state)
	return span
}

// A span without a threshold has the probability of its nearest ancestor with one, even if that
// came earlier from another process.
func TestProbabilityOf_Inherited(t *testing.T) {
	r := start(t, testConfig(func(c *Config) { c.AssumedRate = 0.2 }), nil)
	got := stamped(r.receive(foreign("web", func(spans ptrace.SpanSlice) {
		spanOf(spans, 1, 1, 0, "root", "ot=th:8")
		spanOf(spans, 1, 2, 1, "child", "")
		spanOf(spans, 1, 3, 2, "grandchild", "other=1")
		spanOf(spans, 1, 4, 2, "lower", "ot=th:4")
		spanOf(spans, 1, 5, 4, "below lower", "")
		spanOf(spans, 2, 6, 0, "other root", "")
		spanOf(spans, 3, 7, 99, "no root, says", "ot=th:8")
	})))
	assert.Equal(t, map[string]probabilityOf{
		"root": {0.5, "threshold"}, "child": {0.5, "inherited"}, "grandchild": {0.5, "inherited"},
		"lower": {0.75, "threshold"}, "below lower": {0.75, "inherited"},
		"other root": {0.2, "assumed"}, "no root, says": {0.5, "threshold"},
	}, got)
	got = stamped(r.receive(foreign("store", func(spans ptrace.SpanSlice) {
		spanOf(spans, 1, 11, 3, "of a known root", "")
		spanOf(spans, 2, 12, 6, "of a root that does not say", "")
		spanOf(spans, 3, 13, 99, "of an unknown root", "")
		spanOf(spans, 4, 14, 98, "of an unknown trace", "")
	})))
	assert.Equal(t, map[string]probabilityOf{
		"of a known root": {0.5, "inherited"}, "of a root that does not say": {0.2, "assumed"},
		"of an unknown root": {0.2, "assumed"}, "of an unknown trace": {0.2, "assumed"},
	}, got)
	assert.Empty(t, r.faults())
	assert.Equal(t, map[string]int64{"threshold": 3, "inherited": 4, "assumed": 4}, r.counted("bases"))
}

// The trace state before th: p stands for 2^-p, and r must be as large.
func TestProbabilityOf_Legacy(t *testing.T) {
	r := start(t, testConfig(func(c *Config) { c.AssumedRate = 0.2 }), nil)
	got := stamped(r.receive(foreign("web", func(spans ptrace.SpanSlice) {
		for i, state := range []string{"ot=p:2;r:5", "ot=r:2;p:2", "ot=p:0;r:0", "ot=p:1", "ot=p:63;r:3", "ot=p:3;r:2", "ot=p:64;r:2", "ot=p:x", "ot=r:4", "ot=th:8;p:3;r:4"} {
			spanOf(spans, byte(i), byte(i+1), 0, state, state)
		}
	})))
	assumed := probabilityOf{0.2, "assumed"}
	assert.Equal(t, map[string]probabilityOf{
		"ot=p:2;r:5": {0.25, "legacy"}, "ot=r:2;p:2": {0.25, "legacy"}, "ot=p:0;r:0": {1, "legacy"}, "ot=p:1": {0.5, "legacy"},
		"ot=p:63;r:3": assumed, "ot=p:3;r:2": assumed, "ot=p:64;r:2": assumed, "ot=p:x": assumed, "ot=r:4": assumed,
		"ot=th:8;p:3;r:4": {0.5, "threshold"},
	}, got)
	assert.Equal(t, []string{"passed trace_state_invalid x3"}, r.faults())
}

// From the 50th trace on, the ratio of a Go ratio sampler is estimated, also for the next service.
func TestProbabilityOf_Estimated(t *testing.T) {
	const ratio = 0.125
	r := start(t, testConfig(func(c *Config) { c.AssumedRates = map[string]float64{"served": 0.2} }), nil)
	ids := keptBy(sdktrace.TraceIDRatioBased(ratio), randomIDs(rand.New(rand.NewPCG(22, 4)), 8000))
	send := func(service, sdk string) (calls float64, bases map[string]int) {
		bases = map[string]int{}
		for i, id := range ids {
			td := foreign(service, func(spans ptrace.SpanSlice) { addForeign(spans, byte(i), 9).SetTraceID(id) })
			td.ResourceSpans().At(0).Resource().Attributes().PutStr("telemetry.sdk.name", sdk)
			r.sink.Reset()
			for _, one := range stamped(r.receive(td)) {
				calls += 1 / one.p
				bases[one.basis]++
			}
		}
		return calls, bases
	}
	calls, bases := send("store", "opentelemetry")
	assert.Equal(t, map[string]int{"assumed": 49, "estimated": len(ids) - 49}, bases)
	assert.InEpsilon(t, float64(len(ids)-49)/ratio+49, calls, 0.02)
	_, bases = send("served", "opentelemetry")
	assert.Equal(t, map[string]int{"configured": len(ids)}, bases)
	_, bases = send("elsewhere", "zipkin")
	assert.Equal(t, map[string]int{"assumed": len(ids)}, bases)
}

// Until a process has polled its rate it keeps all traces. It is recognised by traces that the
// served rate cannot have kept.
func TestProbabilityOf_UnpolledProcess(t *testing.T) {
	const ratio = 0.25
	server := &servedOperations{rates: map[string]float64{"GET /cart": ratio}}
	r := startWith(t, testConfig(func(c *Config) { c.ServedRates = &ratesID }), nil,
		hostWith{componenttest.NewNopHost(), map[component.ID]component.Component{ratesID: server}})
	drawn := randomIDs(rand.New(rand.NewPCG(22, 5)), 4189)
	ids := append(drawn[:189:189], keptBy(sdktrace.TraceIDRatioBased(ratio), drawn[189:])...)
	calls := map[string]float64{}
	for at := 0; at < len(ids); at += 27 {
		td := foreign("web", func(spans ptrace.SpanSlice) {
			for i, id := range ids[at:min(at+27, len(ids))] {
				span := addForeign(spans, byte(i+1), 0)
				span.SetTraceID(id)
				span.SetStartTimestamp(pcommon.Timestamp(noon + int64(at+i)))
			}
		})
		resource := td.ResourceSpans().At(0).Resource().Attributes()
		resource.PutStr("telemetry.sdk.name", "opentelemetry")
		resource.PutStr("telemetry.sdk.language", "go")
		resource.PutStr(methodspan.ResourceInstance, "new")
		r.sink.Reset()
		for _, span := range spansOf(r.receive(td)) {
			p, _ := span.Attributes().Get(methodspan.AttrP)
			basis, _ := span.Attributes().Get(methodspan.AttrWeightBasis)
			require.False(t, basis.Str() == "served" && low(span.TraceID()) > 1<<62, "kept by a ratio that it exceeds")
			calls[basis.Str()] += 1 / p.Double()
		}
	}
	assert.InDelta(t, 189, calls["assumed"], 4)
	assert.InEpsilon(t, 4000, calls["served"], 0.06)
}

func low(id pcommon.TraceID) uint64 { return binary.BigEndian.Uint64(id[8:]) }

// A few children sent before their root get the ratio of the service's other traces. Many traces
// without a known probability get an estimate of their own.
func TestProbabilityOf_ChildrenBeforeRoot(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	random := rand.New(rand.NewPCG(22, 5))
	send := func(parent byte, state string, kept bool) probabilityOf {
		id := randomIDs(random, 1)[0]
		if kept {
			id[9] |= 0xc0 // a threshold of c keeps a quarter
		}
		td := foreign("web", func(spans ptrace.SpanSlice) {
			span := addForeign(spans, 1, parent)
			span.SetTraceID(id)
			span.SetName("span")
			span.TraceState().FromRaw(state)
		})
		td.ResourceSpans().At(0).Resource().Attributes().PutStr("telemetry.sdk.name", "opentelemetry")
		r.sink.Reset()
		return stamped(r.receive(td))["span"]
	}
	assert.Equal(t, probabilityOf{1, "assumed"}, send(9, "", true), "of the first trace")
	for range leastTraces {
		assert.Equal(t, probabilityOf{0.25, "threshold"}, send(0, "ot=th:c", true))
	}
	early := send(9, "", true)
	assert.Equal(t, "estimated", early.basis)
	assert.InEpsilon(t, 0.25, early.p, 0.1)
	for range leastTraces {
		send(9, "", false) // as of another service that keeps all
	}
	assert.Equal(t, probabilityOf{1, "assumed"}, send(9, "", true))
}
