package methodspans

import (
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// Bits of a span's flags (OTLP): whether it is known if the parent is in another process, and
// whether it is.
const (
	flagKnowsRemote = 0x100
	flagIsRemote    = 0x200
)

// foreignScratch holds the foreign spans of one resource until all are collected, since a
// parent can come after its child.
type foreignScratch struct {
	rate     float64 // assumed for the service
	stated   bool    // rate is configured for this service
	rules    rules   // of the service, in mode rules
	spans    []foreignSpan
	places   map[spanKey]int32 // of spans by their ids
	normal   map[methodspan.Identity]string
	methods  int // method spans
	known    int // spans with a known probability
	traces   []knownTrace
	traceAt  map[pcommon.TraceID]int32
	sampler  sampler
	instance string // the name of the process; "" = none
	named    bool   // the name comes from the resource
}

// foreignSpan is a span of another SDK. A span that is no method span can be the root of
// method spans.
type foreignSpan struct {
	span     ptrace.Span
	method   bool
	identity methodspan.Identity
	overflow bool    // beyond a bound
	p        float64 // 0 = unknown
	basis    basis
	trace    int32 // index in traces
}

// knownTrace is a trace with its probability: 0 = unknown, or ofOthers.
type knownTrace struct {
	id pcommon.TraceID
	p  float64
}

type spanKey struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
}

func newForeignScratch() foreignScratch {
	return foreignScratch{places: make(map[spanKey]int32), normal: make(map[methodspan.Identity]string), traceAt: make(map[pcommon.TraceID]int32)}
}

func (f *foreignScratch) release() {
	clear(f.spans)
	f.spans = f.spans[:0]
	clear(f.rules)
	f.rules = f.rules[:0]
	clear(f.places)
	clear(f.normal)
	f.traces = f.traces[:0]
	clear(f.traceAt)
	f.methods, f.known, f.sampler, f.instance = 0, 0, sampler{}, ""
}

func (n *normalizer) beginForeign(resource pcommon.Resource, p *requestPass) {
	service := p.resource.Service
	p.foreign.release()
	p.foreign.sampler = samplerOf(n.server, &p.resource)
	n.findInstance(resource, p)
	p.foreign.rate, p.foreign.stated = n.assumedRates[service]
	if !p.foreign.stated {
		p.foreign.rate = n.assumedRate
	}
	if n.foreign == ForeignRules {
		p.foreign.rules = n.rules.forService(service, p.foreign.rules)
	}
}

// collectForeign decides whether a span of another SDK is a method span. Other spans and
// faulty ones pass unchanged for other exporters.
func (n *normalizer) collectForeign(span ptrace.Span, p *requestPass) {
	f, says := foreignSpan{span: span}, false
	if n.foreign == ForeignNone {
		p.received[kindOther]++
		return
	}
	if n.acceptsForeign(span, p) {
		p.received[kindForeign]++
		f.method = p.validForeign(span)
	} else {
		p.received[kindOther]++
	}
	if f.method {
		n.tidyForeign(span.Attributes(), p)
		if !utf8.ValidString(span.Name()) { // it can be the method's name
			p.fault(notUTF8, corrected)
			span.SetName(validUTF8(span.Name()))
		}
		f.identity, _ = p.parsed.Identity(span, p.scope)
		f.overflow = !n.hasPlace(f.identity, p)
		p.foreign.methods++
		f.p, says = p.statedProbability(span)
		n.statedCPU(span, int64(span.EndTimestamp()-span.StartTimestamp()), p)
	}
	if says {
		f.basis = threshold
	} else {
		f.p, f.basis = p.foreignProbability(f)
	}
	if f.p != 0 {
		p.foreign.known++
	}
	if !span.SpanID().IsEmpty() {
		p.foreign.places[spanKey{span.TraceID(), span.SpanID()}] = int32(len(p.foreign.spans))
	}
	p.foreign.spans = append(p.foreign.spans, f)
}

// validForeign reports whether the times of a method span can be stored.
func (p *requestPass) validForeign(span ptrace.Span) bool {
	start, end := span.StartTimestamp(), span.EndTimestamp()
	if !validTime(start) || !validTime(end) {
		p.fault(timeInvalid, passed)
		return false
	}
	if end < start {
		p.fault(timeReversed, passed)
		return false
	}
	if int64(end) > p.life.until {
		p.fault(timeInFuture, passed)
		return false
	}
	if int64(end-start) > p.life.longest(int64(end)) {
		p.fault(wallExceedsAge, passed)
		return false
	}
	return true
}

// acceptsForeign reports whether the mode accepts a span of another SDK as a method span.
func (n *normalizer) acceptsForeign(span ptrace.Span, p *requestPass) bool {
	id, ok := p.parsed.Identity(span, p.scope)
	if !ok {
		return false
	}
	switch n.foreign {
	case ForeignAll:
		return true
	case ForeignCode:
		return p.parsed.Text(methodspan.FieldFunction) != "" || p.parsed.Text(methodspan.FieldOldFunction) != ""
	case ForeignRules:
		return p.foreign.rules.accepts(p.foreign.normalForm(id))
	}
	return false
}

// normalForm returns the normal form of a method, which callers use, cached per request.
func (f *foreignScratch) normalForm(id methodspan.Identity) string {
	if s, ok := f.normal[id]; ok {
		return s
	}
	s := id.Function().Full()
	f.normal[id] = s
	return s
}

// stampsBehind is the number of attributes that processors add to a span. Room for them avoids
// a second copy of the list.
const stampsBehind = 5

// stampForeign writes kind, probability, basis and caller to the collected spans. The caller of
// a span is CallerEntry if it has no parent or one in another process. If the parent is not in
// the request, the caller is unknown.
func (n *normalizer) stampForeign(p *requestPass) {
	if p.foreign.methods == 0 && p.foreign.known == 0 && n.server == nil {
		return
	}
	n.learnTraces(p)
	estimate, hasEstimate := n.estimateOf(p)
	for i := range p.foreign.spans {
		f := &p.foreign.spans[i]
		if !f.method {
			continue
		}
		probability, basis := p.probabilityOf(i)
		if basis == unknown {
			probability, basis = p.foreign.rate, assumed
			switch {
			case p.foreign.stated:
				basis = configured
			case hasEstimate:
				probability, basis = estimate, estimated
			}
		}
		p.bases[basis]++
		attributes := f.span.Attributes()
		attributes.EnsureCapacity(attributes.Len() + 4 + stampsBehind)
		attributes.PutStr(methodspan.AttrKind, methodspan.KindCall)
		attributes.PutDouble(methodspan.AttrP, probability)
		attributes.PutStr(methodspan.AttrWeightBasis, basisNames[basis])
		if f.overflow {
			attributes.PutStr(methodspan.AttrFunction, methodspan.Overflow)
		}
		if caller := n.callerOf(i, p); caller != "" {
			attributes.PutStr(methodspan.AttrCaller, caller)
		}
	}
}

func (n *normalizer) callerOf(i int, p *requestPass) string {
	span := p.foreign.spans[i].span
	parent := span.ParentSpanID()
	if parent.IsEmpty() {
		return methodspan.CallerEntry
	}
	// A span cannot be its own parent, and only a method span is a caller.
	if at, ok := p.foreign.places[spanKey{span.TraceID(), parent}]; ok && int(at) != i && p.foreign.spans[at].method {
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
