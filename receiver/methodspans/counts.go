package methodspans

import (
	"encoding/binary"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// countsScratch merges the entries of one counts span by name, so that the number of expanded
// spans is bounded by max_methods, not by the number of entries.
type countsScratch struct {
	entries []countsEntry
	places  map[string]int // of names in entries
}

type countsEntry struct {
	method string
	calls  int64
}

func newCountsScratch() countsScratch { return countsScratch{places: make(map[string]int)} }

func (c *countsScratch) release() {
	clear(c.entries)
	c.entries = c.entries[:0]
	clear(c.places)
}

// counts replaces a span with the counts of a process by one span per method, appended to
// spans. It validates counts that an upstream receiver has expanded. It returns false if span
// must be removed.
func (n *normalizer) counts(spans ptrace.SpanSlice, span ptrace.Span, p *requestPass) bool {
	n.repairOrNow(span, p)
	p.noticeThinning(span)
	r := &p.parsed
	p.stratum(span)
	if r.Seen&methodspan.FieldsOf(methodspan.FieldCountsMethods, methodspan.FieldCountsCalls) == 0 {
		return n.expandedCounts(span, p)
	}
	if !r.Good.Has(methodspan.FieldCountsCalls) {
		p.fault(countsAbsent, dropped)
		return false
	}
	n.mergeCounts(p)
	p.expand(spans, span)
	return false
}

// mergeCounts reads the two arrays. If their lengths differ, the calls cannot be matched to
// methods, and their sum is kept as overflow.
func (n *normalizer) mergeCounts(p *requestPass) {
	r := &p.parsed
	calls := r.List(methodspan.FieldCountsCalls)
	var methods pcommon.Slice
	paired := r.Good.Has(methodspan.FieldCountsMethods)
	if paired {
		methods = r.List(methodspan.FieldCountsMethods)
		paired = methods.Len() == calls.Len()
	}
	if !paired {
		p.fault(countsLength, corrected)
	}
	p.counts.release()
	for i := range calls.Len() {
		number, ok := methodspan.IntOf(calls.At(i))
		if !ok || number < 0 {
			p.fault(countsEntryInvalid, dropped)
			continue
		}
		name := methodspan.Overflow
		if paired {
			name = methodName(methods.At(i), p)
		}
		if !n.addCounts(name, number, p) {
			p.fault(countsEntryInvalid, dropped)
			p.loseCalls(number)
		}
	}
}

// methodName returns the name of an entry, Overflow if it has none.
func methodName(v pcommon.Value, p *requestPass) string {
	name := v.Str()
	if name == "" {
		p.fault(nameAbsent, corrected)
		return methodspan.Overflow
	}
	if valid := validUTF8(name); valid != name {
		p.fault(notUTF8, corrected)
		return valid
	}
	return name
}

// addCounts adds an entry. It returns false if the sum would reach 2^53: from there on a DOUBLE
// also stands for the next number.
func (n *normalizer) addCounts(name string, calls int64, p *requestPass) bool {
	at, ok := p.counts.places[name]
	if !ok {
		if bounded := n.boundMethod(name, p); bounded != name {
			return n.addCounts(bounded, calls, p)
		}
		at = len(p.counts.entries)
		p.counts.entries = append(p.counts.entries, countsEntry{method: name})
		p.counts.places[name] = at
	}
	entry := &p.counts.entries[at]
	if calls >= methodspan.MostMeasured-entry.calls {
		return false
	}
	entry.calls += calls
	return true
}

// expand appends one span per merged entry, with the common values copied. Span ids count up
// from the original's, so they differ and are the same when the batch is sent again.
func (p *requestPass) expand(spans ptrace.SpanSlice, from ptrace.Span) {
	spans.EnsureCapacity(spans.Len() + len(p.counts.entries))
	ids, activated := p.parsed.Text(methodspan.FieldIDs), p.parsed.Bool(methodspan.FieldActivated)
	spanID := from.SpanID()
	first := binary.BigEndian.Uint64(spanID[:])
	for i, entry := range p.counts.entries {
		to := spans.AppendEmpty()
		to.SetName(entry.method)
		to.SetKind(ptrace.SpanKindInternal)
		to.SetTraceID(from.TraceID())
		to.SetParentSpanID(from.ParentSpanID())
		to.TraceState().FromRaw(from.TraceState().AsRaw())
		to.SetStartTimestamp(from.StartTimestamp())
		to.SetEndTimestamp(from.EndTimestamp())
		if !spanID.IsEmpty() {
			var id pcommon.SpanID
			binary.BigEndian.PutUint64(id[:], first+uint64(i))
			to.SetSpanID(id)
		}
		attributes := to.Attributes()
		attributes.EnsureCapacity(4)
		attributes.PutStr(methodspan.AttrKind, methodspan.KindCounts)
		attributes.PutStr(methodspan.AttrFunction, entry.method)
		attributes.PutInt(methodspan.AttrCalls, entry.calls)
		if ids != "" {
			attributes.PutStr(methodspan.AttrIDs, ids)
		}
		if activated {
			attributes.PutBool(methodspan.AttrActivated, true)
		}
	}
}

// expandedCounts validates the counts of one method. Calls without a name are kept as
// overflow.
func (n *normalizer) expandedCounts(span ptrace.Span, p *requestPass) bool {
	r := &p.parsed
	calls := r.Number(methodspan.FieldCalls)
	switch {
	case !r.Seen.Has(methodspan.FieldCalls):
		p.fault(countsAbsent, dropped)
		return false
	case !r.Good.Has(methodspan.FieldCalls) || calls < 0 || !ofOtherSDK(r) && calls != math.Trunc(calls):
		p.fault(countsEntryInvalid, dropped)
		return false
	case calls >= methodspan.MostMeasured:
		p.fault(countsEntryInvalid, dropped)
		if v, ok := span.Attributes().Get(methodspan.AttrCalls); ok {
			if number, ok := methodspan.IntOf(v); ok {
				p.loseCalls(number)
			}
		}
		return false
	}
	if ofOtherSDK(r) {
		return n.method(span, p)
	}
	attributes := span.Attributes()
	name := r.Text(methodspan.FieldFunction)
	if name == "" {
		if name = validUTF8(span.Name()); name == "" {
			name = methodspan.Overflow
		}
		p.fault(nameAbsent, corrected)
		attributes.PutStr(methodspan.AttrFunction, name)
	}
	if bounded := n.boundMethod(name, p); bounded != name {
		attributes.PutStr(methodspan.AttrFunction, bounded)
		span.SetName(bounded)
	}
	return true
}
