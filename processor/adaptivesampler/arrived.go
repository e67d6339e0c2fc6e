package adaptivesampler

import (
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// arrivedCounts counts the calls of other SDKs in one scope before the sampler thins them. The counts leave in the
// batch of their spans, as counts spans: so they are lost, resent or refused with it, and the sampler keeps nothing.
//
// A span that arrives with probability p stands for 1/p calls. Samplers of other SDKs keep whole traces, so the
// variance of a count is the sum over traces of n^2 (1-p) / p^2, with n spans of the method in the trace.
type arrivedCounts struct {
	entries []arrivedCount
	places  map[arrivedKey]int
	traces  map[arrivedTrace]float64 // calls by trace, for p below 1
}

// arrivedKey is a method in one minute. Counts and measurements of a minute are compared with each other.
type arrivedKey struct {
	methodKey
	basis  string
	minute pcommon.Timestamp
}

type arrivedTrace struct {
	entry int
	trace pcommon.TraceID
}

type arrivedCount struct {
	arrivedKey
	name       string
	function   string // code.function.name
	oldMethod  bool   // class and method are the older pair of attributes
	decision   *decision
	trace      pcommon.TraceID
	span       pcommon.SpanID
	start, end pcommon.Timestamp

	calls, variance float64
}

// countsOnArrival reports whether calls are counted before the decision d: where it can thin them, and where they
// arrive sampled, since the variance of such calls depends on their traces.
func (d *decision) countsOnArrival(arrived float64, became spanOutcome) bool {
	switch became {
	case thinnedOut, limited, off:
		return arrived > 0
	case kept:
		return arrived < 1 || d.rate*(1+slack) < arrived
	}
	return false
}

func (c *arrivedCounts) addSpan(span ptrace.Span, m *measurement, scope string, d *decision, p float64) {
	const minute = 60_000_000_000
	key := arrivedKey{keyOf(m, span, scope), m.Text(methodspan.FieldWeightBasis), span.StartTimestamp() / minute}
	at, ok := c.places[key]
	if !ok {
		if c.places == nil {
			c.places = make(map[arrivedKey]int)
			c.traces = make(map[arrivedTrace]float64)
		}
		at = len(c.entries)
		c.places[key] = at
		c.entries = append(c.entries, arrivedCount{
			arrivedKey: key, name: span.Name(), function: m.Text(methodspan.FieldFunction), oldMethod: m.Text(methodspan.FieldOldFunction) != "",
			decision: d, trace: span.TraceID(), span: span.SpanID(), start: span.StartTimestamp(), end: span.EndTimestamp(),
		})
	}
	e := &c.entries[at]
	e.start, e.end = min(e.start, span.StartTimestamp()), max(e.end, span.EndTimestamp())
	calls := float64(max(1, m.Whole(methodspan.FieldMeasured))) / p
	e.calls += calls
	if p < 1 {
		of := arrivedTrace{at, span.TraceID()}
		before := c.traces[of]
		c.traces[of] = before + calls
		e.variance += ((before+calls)*(before+calls) - before*before) * (1 - p)
	}
}

// appendTo appends the counts spans and empties c. Their ids follow from the first span of each, so that they are
// the same when the batch is sent again.
func (c *arrivedCounts) appendTo(spans ptrace.SpanSlice) {
	if len(c.entries) == 0 {
		return
	}
	spans.EnsureCapacity(spans.Len() + len(c.entries))
	for i := range c.entries {
		c.entries[i].write(spans.AppendEmpty())
	}
	clear(c.entries)
	c.entries = c.entries[:0]
	clear(c.places)
	clear(c.traces)
}

func (e *arrivedCount) write(to ptrace.Span) {
	to.SetName(e.name)
	to.SetKind(ptrace.SpanKindInternal)
	to.SetTraceID(e.trace)
	to.SetParentSpanID(e.span)
	var id pcommon.SpanID
	binary.BigEndian.PutUint64(id[:], binary.BigEndian.Uint64(e.span[:])+1)
	to.SetSpanID(id)
	to.SetStartTimestamp(e.start)
	to.SetEndTimestamp(max(e.start, e.end))
	to.TraceState().FromRaw("ot=th:0") // no later sampler thins it
	attributes := to.Attributes()
	attributes.EnsureCapacity(9 + previews)
	attributes.PutStr(methodspan.AttrKind, methodspan.KindCounts)
	switch {
	case e.function != "":
		attributes.PutStr(methodspan.AttrFunction, e.function)
	case e.oldMethod:
		attributes.PutStr(methodspan.AttrOldNamespace, e.Class)
		attributes.PutStr(methodspan.AttrOldFunction, e.Method)
	}
	if e.signature != "" {
		attributes.PutStr(methodspan.AttrSignature, e.signature)
	}
	attributes.PutStr(methodspan.AttrWeightBasis, e.basis)
	attributes.PutDouble(methodspan.AttrCalls, e.calls)
	if e.variance > 0 {
		attributes.PutDouble(methodspan.AttrP, e.calls/(e.calls+e.variance))
	}
	attributes.PutStr(methodspan.AttrIDs, methodspan.IDsSynthetic)
	if e.decision.tier != "" {
		attributes.PutStr(methodspan.AttrTier, e.decision.tier)
	}
	attributes.PutStr(methodspan.AttrReason, e.decision.reason)
}
