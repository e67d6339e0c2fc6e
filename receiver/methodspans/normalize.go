package methodspans

import (
	"math"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// normalizer gives every span of a request its one meaning. It is safe for
// concurrent use; what it needs for one request lies in a pass.
type normalizer struct {
	limits       Limits
	tolerance    ClockTolerance
	foreign      ForeignMode
	rules        rules
	assumedRate  float64
	assumedRates map[string]float64
	names        *names
	now          func() time.Time
}

func newNormalizer(config *Config, now func() time.Time) *normalizer {
	return &normalizer{
		limits:       config.Limits,
		tolerance:    config.ClockTolerance,
		foreign:      config.Foreign,
		rules:        newRules(config.ForeignRules),
		assumedRate:  config.AssumedRate,
		assumedRates: config.AssumedRates,
		names:        newNames(config.Limits.MaxServices, config.Limits.MaxMethods, now),
		now:          now,
	}
}

// pass is the scratch space of one request, used again for the next.
type pass struct {
	tally
	reading reading
	gone    []bool // by place in the scope: the span is removed at the end

	service *serviceNames // locked
	counts  countsScratch
	foreign foreignScratch
}

func newPass() *pass {
	p := &pass{counts: newCountsScratch(), foreign: newForeignScratch()}
	p.reading.visit = p.reading.read
	return p
}

func (p *pass) reset() {
	p.tally = tally{}
	p.reading.release()
	p.counts.release()
	p.foreign.release()
}

func (n *normalizer) normalize(td ptrace.Traces, p *pass) {
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		before := rs.ScopeSpans().Len()
		n.resource(rs, p)
		return before > 0 && rs.ScopeSpans().Len() == 0
	})
}

func (n *normalizer) resource(rs ptrace.ResourceSpans, p *pass) {
	repairResource(rs.Resource().Attributes(), &p.tally)
	namespace, service := serviceOf(rs.Resource())
	p.service = n.names.lock(serviceKey{namespace, service}, &p.tally)
	defer p.service.mu.Unlock()

	n.beginForeign(service, p)
	rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
		before := ss.Spans().Len()
		n.scope(ss, p)
		return before > 0 && ss.Spans().Len() == 0
	})
	n.stampForeign(p)
}

func serviceOf(res pcommon.Resource) (namespace, service string) {
	if v, ok := res.Attributes().Get(methodspan.ResourceServiceNamespace); ok {
		namespace = v.AsString()
	}
	if v, ok := res.Attributes().Get(methodspan.ResourceService); ok {
		service = v.AsString()
	}
	return namespace, service
}

func (n *normalizer) scope(ss ptrace.ScopeSpans, p *pass) {
	_, _, isNumbered := methodspan.BatchOf(ss.Scope())
	spans := ss.Spans()
	arrived := spans.Len() // expanded counts are appended behind
	p.gone = append(p.gone[:0], make([]bool, arrived)...)
	scope := ss.Scope().Name()
	if n.foreign != ForeignNone && !utf8.ValidString(scope) { // it may become a class
		p.fault(notUTF8, corrected)
		scope = validUTF8(scope)
		ss.Scope().SetName(scope)
	}
	anyGone, anyUnnumbered := false, false
	for i := range arrived {
		span := spans.At(i)
		p.reading.of(span.Attributes())
		k := p.reading.kind()
		p.received[k]++
		if k == kindForeign {
			n.collectForeign(span, scope, p)
			continue
		}
		if k == kindOther {
			p.fault(kindUnknown, passed)
			continue
		}
		anyUnnumbered = anyUnnumbered || (!isNumbered && !p.reading.seen.has(fieldBasis))
		if !n.span(spans, span, k, p) {
			p.gone[i] = true
			anyGone = true
		}
	}
	if anyUnnumbered {
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

// kind classifies a span by its own word; a span that says nothing comes from
// another SDK.
func (r *reading) kind() kind {
	if !r.seen.has(fieldKind) {
		return kindForeign
	}
	switch r.textOf(fieldKind) {
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

// span normalises a span that says it is ours. False removes it.
func (n *normalizer) span(spans ptrace.SpanSlice, span ptrace.Span, k kind, p *pass) bool {
	n.tidy(span.Attributes(), k, p)
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

// validTime tells whether a time can be stored: given, and before 2262.
func validTime(t pcommon.Timestamp) bool { return t > 0 && t <= math.MaxInt64 }

// repairInterval makes sense of the times of a span that sums up an interval.
// Its quantities do not depend on them. False if there is no time at all.
func (p *pass) repairInterval(span ptrace.Span) bool {
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

// repairOrNow falls back on the time of arrival, for what must not be lost.
func (n *normalizer) repairOrNow(span ptrace.Span, p *pass) {
	if p.repairInterval(span) {
		return
	}
	p.fault(timeInvalid, corrected)
	now := pcommon.NewTimestampFromTime(n.now())
	span.SetStartTimestamp(now)
	span.SetEndTimestamp(now)
}

// method gives a measurement its name within the bounds. False if it has none.
func (n *normalizer) method(span ptrace.Span, p *pass) bool {
	name := p.reading.textOf(fieldFunction)
	if name == "" {
		name = validUTF8(span.Name())
		if name == "" {
			p.fault(nameAbsent, dropped)
			return false
		}
		p.fault(nameAbsent, corrected)
		span.Attributes().PutStr(methodspan.AttrFunction, name)
	}
	if bounded := n.boundMethod(name, p); bounded != name {
		span.Attributes().PutStr(methodspan.AttrFunction, bounded)
		span.SetName(bounded)
	}
	if caller := p.reading.textOf(fieldCaller); caller != "" {
		if bounded := n.boundCaller(caller, p); bounded != caller {
			span.Attributes().PutStr(methodspan.AttrCaller, bounded)
		}
	}
	return true
}

// boundMethod is the name, or Overflow where a bound is exceeded.
func (n *normalizer) boundMethod(name string, p *pass) string {
	if name == methodspan.Overflow {
		return name
	}
	if len(name) > n.limits.MaxNameLength {
		p.fault(textTooLong, corrected)
		return methodspan.Overflow
	}
	if !p.service.methods.admit(n.names.hash(name), n.limits.MaxMethods) {
		p.overflow[tableMethods]++
		return methodspan.Overflow
	}
	return name
}

func (n *normalizer) boundCaller(name string, p *pass) string {
	if name == methodspan.Overflow || name == methodspan.CallerEntry {
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
	return name
}
