package methodspans

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// This file handles clients that measure but do not count: other SDKs whose spans have a
// probability or a CPU time, and clients that send calls but no counts. Each of their
// measurements stands for 1/p calls.

// statedProbability returns corehour.p of a span of another SDK, composed with its threshold.
// It returns false if there is no valid corehour.p.
func (p *requestPass) statedProbability(span ptrace.Span) (float64, bool) {
	if !p.parsed.Seen.Has(methodspan.FieldP) {
		return 0, false
	}
	if !validProbability(p.parsed.Number(methodspan.FieldP)) {
		p.fault(pInvalid, corrected)
		p.remove(span.Attributes(), methodspan.FieldsOf(methodspan.FieldP))
		return 0, false
	}
	p.callProbability(span)
	v, _ := span.Attributes().Get(methodspan.AttrP)
	return methodspan.FloatOf(v)
}

// statedCPU removes the CPU time of a span of another SDK if it is invalid.
func (n *normalizer) statedCPU(span ptrace.Span, wall int64, p *requestPass) {
	if p.parsed.Seen&stated == 0 {
		return
	}
	p.completeCPU(span)
	n.callCPU(span, wall, p)
}

// completeCPU writes corehour.cpu.p = 1 if a span has a CPU time but no such probability. The
// client times all recorded calls, or an equal share, which cancels out in weights by calls.
func (p *requestPass) completeCPU(span ptrace.Span) {
	r := &p.parsed
	if !r.Seen.Has(methodspan.FieldCPUTime) || r.Seen.Has(methodspan.FieldCPUP) {
		return
	}
	span.Attributes().PutDouble(methodspan.AttrCPUP, 1)
	r.SetNumber(methodspan.FieldCPUP, 1)
}

// numbering is the state of batch numbers and counts of a resource.
type numbering struct {
	resource ptrace.ResourceSpans
	searched bool // counts were searched in the resource
	absent   bool // the scope has no number
	missed   bool // the scope has no number but a span that needs one
}

func (n *numbering) begin(scope pcommon.InstrumentationScope) {
	_, _, numbered := methodspan.BatchOf(scope)
	n.absent, n.missed = !numbered, false
}

// uncounted reports whether a span, in a scope without a batch number, is a measurement of a
// client that sends no counts. Clients that count number their requests. If one does not, its
// counts are in the same request or came from its service within the last hours: treating its
// measurements as uncounted would count its calls twice.
func (p *requestPass) uncounted(k kind) bool {
	if p.parsed.Seen.Has(methodspan.FieldWeightBasis) {
		return false
	}
	period := p.service.methods.period
	if k == kindCounts {
		p.service.counted = period
	}
	if (k == kindCall || k == kindAggregate) && !p.numbers.searched {
		p.numbers.searched = true
		if hasCounts(p.numbers.resource) {
			p.service.counted = period
		}
	}
	if (k == kindCall || k == kindAggregate) && (p.service.counted == 0 || p.service.counted < period-1) {
		return true
	}
	p.numbers.missed = true
	return false
}

// uncounted validates a measurement of a client that sends no counts, and marks that it stands
// for 1/p calls. It returns false if the span must be removed.
func (n *normalizer) uncounted(span ptrace.Span, k kind, p *requestPass) bool {
	ok := false
	if k == kindAggregate {
		ok = n.aggregate(span, p)
	} else {
		p.completeCPU(span)
		ok = n.call(span, p)
	}
	if ok {
		span.Attributes().PutStr(methodspan.AttrWeightBasis, methodspan.BasisThreshold)
	}
	return ok
}

func hasCounts(rs ptrace.ResourceSpans) bool {
	for _, ss := range rs.ScopeSpans().All() {
		for _, span := range ss.Spans().All() {
			if v, ok := span.Attributes().Get(methodspan.AttrKind); ok && v.Str() == methodspan.KindCounts {
				return true
			}
		}
	}
	return false
}
