package methodspans

import (
	"unicode/utf8"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// Bits of a span's flags (OTLP): whether the parent is known to be in another
// process.
const (
	flagKnowsRemote = 0x100
	flagIsRemote    = 0x200
)

// foreignScratch holds the foreign method spans of one resource until all of
// its spans were met, since a parent may come after its child.
type foreignScratch struct {
	rate     float64   // assumed for the service
	patterns []pattern // of the service, in mode rules
	spans    []foreignSpan
	places   map[spanKey]int32 // of spans by their ids
	normal   map[identity]string
	served   servedScratch
}

type foreignSpan struct {
	span     ptrace.Span
	identity identity
	overflow bool // beyond a bound
	p        float64
	basis    string
}

type spanKey struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
}

func newForeignScratch() foreignScratch {
	return foreignScratch{places: make(map[spanKey]int32), normal: make(map[identity]string), served: newServedScratch()}
}

func (f *foreignScratch) release() {
	clear(f.spans)
	f.spans = f.spans[:0]
	clear(f.patterns)
	f.patterns = f.patterns[:0]
	clear(f.places)
	clear(f.normal)
	f.served.release()
}

func (n *normalizer) beginForeign(resource pcommon.Resource, service string, p *pass) {
	p.foreign.release()
	if n.server != nil {
		p.foreign.served.begin(n.server, resource)
	}
	p.foreign.rate = n.assumedRate
	if rate, ok := n.assumedRates[service]; ok {
		p.foreign.rate = rate
	}
	if n.foreign == ForeignRules {
		p.foreign.patterns = n.rules.forService(service, p.foreign.patterns)
	}
}

// collectForeign decides whether a span of another SDK is a method span. If
// not, or if it is faulty, it passes as it came: other exporters may want it.
func (n *normalizer) collectForeign(span ptrace.Span, p *pass) {
	p.foreign.served.note(span)
	if !n.takes(span, p) {
		p.received[kindOther]++
		return
	}
	p.received[kindForeign]++
	start, end := span.StartTimestamp(), span.EndTimestamp()
	if !validTime(start) || !validTime(end) {
		p.fault(timeInvalid, passed)
		return
	}
	if end < start {
		p.fault(timeReversed, passed)
		return
	}
	n.tidyForeign(span.Attributes(), p)
	if !utf8.ValidString(span.Name()) { // it may be the method
		p.fault(notUTF8, corrected)
		span.SetName(validUTF8(span.Name()))
	}
	f := foreignSpan{span: span}
	f.identity, _ = p.reading.identity(span, p.scope)
	f.p, f.basis = p.foreignProbability(span)
	f.overflow = !n.hasPlace(f.identity, p)
	if !span.SpanID().IsEmpty() {
		p.foreign.places[spanKey{span.TraceID(), span.SpanID()}] = int32(len(p.foreign.spans))
	}
	p.foreign.spans = append(p.foreign.spans, f)
}

// takes tells whether the mode takes a span.
func (n *normalizer) takes(span ptrace.Span, p *pass) bool {
	id, ok := p.reading.identity(span, p.scope)
	if !ok {
		return false
	}
	switch n.foreign {
	case ForeignAll:
		return true
	case ForeignCode:
		return p.reading.textOf(fieldFunction) != "" || p.reading.textOf(fieldOldFunction) != ""
	case ForeignRules:
		return matchesAny(p.foreign.patterns, p.foreign.normalForm(id))
	default:
		return false
	}
}

// normalForm is the name that callers have, worked out once per request.
func (f *foreignScratch) normalForm(id identity) string {
	if s, ok := f.normal[id]; ok {
		return s
	}
	function := methodspan.Function{Class: id.class, Method: id.method}
	if id.method == "" {
		function = methodspan.ParseFunction(id.class)
	}
	s := function.Full()
	f.normal[id] = s
	return s
}

// foreignProbability reads p from the trace state, where R is rv or else the
// trace id. A th above R cannot have kept the span: it is removed, and p is
// unknown like that of every span without th.
func (p *pass) foreignProbability(span ptrace.Span) (float64, string) {
	state := span.TraceState().AsRaw()
	if state == "" {
		return p.foreign.rate, methodspan.BasisAssumed
	}
	ot, err := methodspan.ReadOT(state)
	if err != nil {
		p.fault(traceStateInvalid, passed)
		return p.foreign.rate, methodspan.BasisAssumed
	}
	if !ot.HasThreshold {
		return p.foreign.rate, methodspan.BasisAssumed
	}
	if !ot.HasRandomness {
		ot.Randomness = sampling.TraceIDToRandomness(span.TraceID())
	}
	if !ot.Threshold.ShouldSample(ot.Randomness) {
		p.fault(thresholdInconsistent, corrected)
		methodspan.ClearThreshold(span)
		return p.foreign.rate, methodspan.BasisAssumed
	}
	return ot.Threshold.Probability(), methodspan.BasisThreshold
}

// stampForeign writes what is known of the collected spans. A span without a
// parent, or with one in another process, was called by none of our methods; a
// parent that is not here may be a method, so its child's caller is unknown.
func (n *normalizer) stampForeign(p *pass) {
	for i := range p.foreign.spans {
		f := &p.foreign.spans[i]
		if f.basis == methodspan.BasisAssumed {
			if served, ok := p.foreign.served.rateOf(f.span); ok {
				f.p, f.basis = served, methodspan.BasisServed
			}
		}
		attributes := f.span.Attributes()
		attributes.EnsureCapacity(attributes.Len() + 4)
		attributes.PutStr(methodspan.AttrKind, methodspan.KindCall)
		attributes.PutDouble(methodspan.AttrP, f.p)
		attributes.PutStr(methodspan.AttrWeightBasis, f.basis)
		if f.overflow {
			attributes.PutStr(methodspan.AttrFunction, methodspan.Overflow)
		}
		if caller := n.callerOf(i, p); caller != "" {
			attributes.PutStr(methodspan.AttrCaller, caller)
		}
	}
}

func (n *normalizer) callerOf(i int, p *pass) string {
	span := p.foreign.spans[i].span
	parent := span.ParentSpanID()
	if parent.IsEmpty() {
		return methodspan.CallerEntry
	}
	if at, ok := p.foreign.places[spanKey{span.TraceID(), parent}]; ok && int(at) != i { // its own parent is nonsense
		f := &p.foreign.spans[at]
		if f.overflow {
			return methodspan.Overflow
		}
		return n.boundCaller(p.foreign.normalForm(f.identity), p)
	}
	if span.Flags()&(flagKnowsRemote|flagIsRemote) == flagKnowsRemote|flagIsRemote {
		return methodspan.CallerEntry
	}
	return ""
}
