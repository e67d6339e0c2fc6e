package methodspans

import (
	"hash/maphash"
	"math"
	"net"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rates"
)

// normalizer brings every span of a request into one form. It is safe for concurrent use; the
// state of one request is in a requestPass.
type normalizer struct {
	limits       Limits
	tolerance    ClockTolerance
	foreign      ForeignMode
	trustPrices  bool
	rules        rules
	assumedRate  float64
	assumedRates map[string]float64
	server       rates.Server // nil = not used
	names        *names
	traces       *traces
	now          func() time.Time
}

func newNormalizer(config *Config, now func() time.Time) *normalizer {
	return &normalizer{
		limits:       config.Limits,
		tolerance:    config.ClockTolerance,
		foreign:      config.Foreign,
		trustPrices:  config.TrustPrices,
		rules:        newRules(config.ForeignRules),
		assumedRate:  config.AssumedRate,
		assumedRates: config.AssumedRates,
		names:        newNames(config.Limits.MaxServices, config.Limits.MaxMethods, now),
		traces:       newTraces(),
		now:          now,
	}
}

// requestPass is the scratch space of one request, reused for the next.
type requestPass struct {
	requestCounts
	parsed methodspan.ParsedSpan // the current span
	gone   []bool                // by position in the scope: the span is removed at the end

	peer     net.Addr // the sender of the request; nil = not known
	sender   string   // owner of the share of the tables that the request uses
	resource methodspan.ParsedResource
	service  *serviceNames // of the resource, locked
	caller   string        // accepted by boundCaller; often the next span has the same
	scope    string        // name of the scope
	life     lifetime      // of the process
	numbers  numbering
	counts   countsScratch
	foreign  foreignScratch
}

func newRequestPass() *requestPass {
	return &requestPass{parsed: methodspan.ParsedSpan{CheckUTF8: true}, counts: newCountsScratch(), foreign: newForeignScratch()}
}

func (p *requestPass) reset() {
	p.requestCounts = requestCounts{}
	p.parsed.Release()
	p.resource = methodspan.ParsedResource{}
	p.peer, p.sender, p.service, p.caller, p.scope, p.numbers = nil, "", nil, "", "", numbering{}
	p.counts.release()
	p.foreign.release()
}

func (n *normalizer) normalize(td ptrace.Traces, p *requestPass) {
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		before := rs.ScopeSpans().Len()
		n.resource(rs, p)
		return before > 0 && rs.ScopeSpans().Len() == 0
	})
}

func (n *normalizer) resource(rs ptrace.ResourceSpans, p *requestPass) {
	p.resource.Read(rs.Resource())
	p.service, p.caller = n.names.lock(serviceKey{p.resource.ServiceNamespace, p.resource.Service}, p.sender, &p.requestCounts), ""
	p.numbers = numbering{resource: rs}
	p.life = n.lifetimeOf(&p.resource)
	defer p.service.mu.Unlock()

	n.beginForeign(rs.Resource(), p)
	rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
		before := ss.Spans().Len()
		n.scope(ss, p)
		return before > 0 && ss.Spans().Len() == 0
	})
	n.stampForeign(p)
	if p.foreign.methods > 0 {
		n.nameInstance(rs.Resource(), p)
	}
}

func (n *normalizer) scope(ss ptrace.ScopeSpans, p *requestPass) {
	p.numbers.begin(ss.Scope())
	spans := ss.Spans()
	arrived := spans.Len() // expanded counts are appended after these
	if arrived > 0 {
		p.possibleTotal(ss.Scope())
	}
	p.gone = append(p.gone[:0], make([]bool, arrived)...)
	p.scope = ss.Scope().Name()
	if n.foreign != ForeignNone && !utf8.ValidString(p.scope) { // it can become a class
		p.fault(notUTF8, corrected)
		p.scope = validUTF8(p.scope)
		ss.Scope().SetName(p.scope)
	}
	anyGone := false
	for i := range arrived {
		span := spans.At(i)
		p.parsed.Parse(span.Attributes(), methodspan.AllFields)
		k := kindOf(&p.parsed)
		if k == kindForeign {
			n.collectForeign(span, p)
			continue
		}
		p.received[k]++
		if k == kindOther {
			p.fault(kindUnknown, passed)
			continue
		}
		if !n.span(spans, span, k, p) {
			p.gone[i] = true
			anyGone = true
		}
	}
	if p.numbers.missed {
		p.fault(batchUnnumbered, passed)
	}
	if !anyGone {
		return
	}
	i := -1
	spans.RemoveIf(func(ptrace.Span) bool {
		i++
		return i < arrived && p.gone[i]
	})
}

// kindOf classifies a span by corehour.kind; a span without it comes from another SDK.
func kindOf(r *methodspan.ParsedSpan) kind {
	if !r.Seen.Has(methodspan.FieldKind) {
		return kindForeign
	}
	switch r.Text(methodspan.FieldKind) {
	case methodspan.KindCall:
		return kindCall
	case methodspan.KindCounts:
		return kindCounts
	case methodspan.KindAggregate:
		return kindAggregate
	case methodspan.KindProcess:
		return kindProcess
	}
	return kindOther
}

// span normalises a span of the corehour SDK. It returns false if the span must be removed.
func (n *normalizer) span(spans ptrace.SpanSlice, span ptrace.Span, k kind, p *requestPass) bool {
	n.tidy(span.Attributes(), k, p)
	if p.numbers.absent && p.uncounted(k) {
		return n.uncounted(span, k, p)
	}
	switch k {
	case kindCall:
		return n.call(span, p)
	case kindCounts:
		return n.counts(spans, span, p)
	case kindAggregate:
		return n.aggregate(span, p)
	default:
		n.process(span, p)
		return true
	}
}

// validTime reports whether a time can be stored: present, and before 2262.
func validTime(t pcommon.Timestamp) bool { return t > 0 && t <= math.MaxInt64 }

// repairInterval corrects the times of a span that sums up an interval, since its quantities do
// not depend on them. It returns false if both times are invalid.
func (p *requestPass) repairInterval(span ptrace.Span) bool {
	start, end := span.StartTimestamp(), span.EndTimestamp()
	okStart, okEnd := validTime(start), validTime(end)
	switch {
	case okStart && okEnd && start <= end:
		return true
	case okStart && okEnd:
		p.fault(timeReversed, corrected)
		start, end = end, start
	case okStart:
		p.fault(timeInvalid, corrected)
		end = start
	case okEnd:
		p.fault(timeInvalid, corrected)
		start = end
	default:
		return false
	}
	span.SetStartTimestamp(start)
	span.SetEndTimestamp(end)
	return true
}

// repairOrNow corrects the times of a span that must not be lost. If both are invalid, it uses
// the time of arrival.
func (n *normalizer) repairOrNow(span ptrace.Span, p *requestPass) {
	if p.repairInterval(span) {
		p.possibleInterval(span)
		return
	}
	p.fault(timeInvalid, corrected)
	now := pcommon.Timestamp(p.life.now)
	span.SetStartTimestamp(now)
	span.SetEndTimestamp(now)
}

// method keeps a measurement's name and caller within the bounds. It returns false if there is
// no name.
func (n *normalizer) method(span ptrace.Span, p *requestPass) bool {
	r := &p.parsed
	id, ok := r.Identity(span, p.scope)
	if !ok {
		p.fault(nameAbsent, dropped)
		return false
	}
	// Spans of other SDKs, stamped by an upstream receiver, keep OpenTelemetry's older
	// names.
	if r.Text(methodspan.FieldFunction) == "" && span.Name() != "" && !ofOtherSDK(r) {
		p.fault(nameAbsent, corrected)
		id = methodspan.Identity{Class: validUTF8(span.Name())}
		span.Attributes().PutStr(methodspan.AttrFunction, id.Class)
	}
	if !n.hasPlace(id, p) {
		span.Attributes().PutStr(methodspan.AttrFunction, methodspan.Overflow)
		if id.Method == "" {
			span.SetName(methodspan.Overflow)
		}
	}
	if caller := r.Text(methodspan.FieldCaller); caller != "" {
		if bounded := n.boundCaller(caller, p); bounded != caller {
			span.Attributes().PutStr(methodspan.AttrCaller, bounded)
		}
	}
	return true
}

// hasPlace reports whether a method is within the bounds. Overflow always is.
func (n *normalizer) hasPlace(id methodspan.Identity, p *requestPass) bool {
	if id == (methodspan.Identity{Class: methodspan.Overflow}) {
		return true
	}
	if len(id.Class)+len(id.Method) > n.limits.MaxNameLength {
		p.fault(textTooLong, corrected)
		return false
	}
	if !p.service.methods.admit(maphash.Comparable(n.names.seed, id), n.limits.MaxMethods) {
		p.overflow[tableMethods]++
		return false
	}
	return true
}

// boundMethod returns the name, or Overflow if a bound is exceeded.
func (n *normalizer) boundMethod(name string, p *requestPass) string {
	if n.hasPlace(methodspan.Identity{Class: name}, p) {
		return name
	}
	return methodspan.Overflow
}

func (n *normalizer) boundCaller(name string, p *requestPass) string {
	if name == methodspan.Overflow || name == methodspan.CallerEntry || name == p.caller {
		return name
	}
	if len(name) > n.limits.MaxNameLength {
		p.fault(textTooLong, corrected)
		return methodspan.Overflow
	}
	if !p.service.callers.admit(n.names.hash(name), n.limits.MaxMethods) {
		p.overflow[tableCallers]++
		return methodspan.Overflow
	}
	p.caller = name
	return name
}
