package methodspans

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
)

// Finding is a fault that the receiver finds in a request.
type Finding struct {
	Span      int    `json:"span"` // position in the request, from 1; 0 = a resource or scope
	Name      string `json:"name"`
	SpanID    string `json:"span_id"`
	Attribute string `json:"attribute"` // or a field of the span, by its name in OTLP
	Found     string `json:"found"`
	Wanted    string `json:"wanted"`
	Reason    string `json:"reason"`  // of the metric faults
	Outcome   string `json:"outcome"` // likewise, or assumed
}

// Reasons and outcome of findings that the receiver does not count as faults.
const (
	reasonDuplicate     = "duplicate"
	reasonNoProbability = "probability_absent"
	outcomeAssumed      = "assumed"
)

// Lint returns the faults that a receiver with the default configuration finds in a request. It
// changes td as the receiver does.
func Lint(td ptrace.Traces) ([]Finding, error) {
	config := createDefaultConfig().(*Config)
	batches := newBatches(config.Limits.MaxInstances, config.Limits.RememberedBatches)
	sent := ptrace.NewTraces()
	td.CopyTo(sent)
	l := &linter{normalizer: newNormalizer(config, time.Now), pass: newRequestPass()}
	l.normalizer.repairResources(td, &l.pass.requestCounts)
	nameProcesses(td)
	claim, err := batches.claim(context.Background(), td, "", &l.pass.requestCounts)
	if err != nil {
		return nil, err
	}
	claim.removeDuplicates(td)
	duplicates, conflicts := l.pass.duplicates, l.pass.faults[batchConflict][passed]
	l.normalizer.normalize(td, l.pass)
	l.pass.reset()

	l.basis = make(map[spanKey]string)
	eachSpan(td, func(_ ptrace.ResourceSpans, _ ptrace.ScopeSpans, span ptrace.Span) {
		if v, ok := span.Attributes().Get(methodspan.AttrWeightBasis); ok {
			l.basis[spanKey{span.TraceID(), span.SpanID()}] = v.Str()
		}
	})
	for _, rs := range sent.ResourceSpans().All() {
		l.resource(rs)
	}
	if duplicates > 0 {
		l.findings = append(l.findings, Finding{Attribute: methodspan.AttrBatchSeq, Found: strconv.FormatInt(duplicates, 10) + " twice",
			Wanted: "another number for each request of a process", Reason: reasonDuplicate, Outcome: outcomeNames[dropped]})
	}
	if conflicts > 0 {
		l.addFinding(Finding{Attribute: methodspan.AttrBatchSeq, Found: strconv.FormatInt(conflicts, 10) + " twice, with other content"}, batchConflict, passed, explanations[batchConflict].wanted)
	}
	return l.findings, nil
}

func eachSpan(td ptrace.Traces, do func(ptrace.ResourceSpans, ptrace.ScopeSpans, ptrace.Span)) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				do(rs, ss, span)
			}
		}
	}
}

// linter normalises each span alone, to attribute faults to the span.
type linter struct {
	normalizer *normalizer
	pass       *requestPass
	basis      map[spanKey]string // of spans that leave the receiver
	number     int                // of spans so far
	findings   []Finding
}

func (l *linter) resource(rs ptrace.ResourceSpans) {
	alone := ptrace.NewTraces()
	rs.Resource().CopyTo(alone.ResourceSpans().AppendEmpty().Resource())
	l.pass.reset()
	l.normalizer.repairResources(alone, &l.pass.requestCounts)
	repaired := alone.ResourceSpans().At(0).Resource().Attributes()
	for name, v := range rs.Resource().Attributes().All() {
		after, ok := repaired.Get(name)
		if ok && after.AsString() == v.AsString() {
			continue
		}
		reason := textTooLong
		if !ok {
			reason = priceUntrusted
		} else if !utf8.ValidString(v.AsString()) {
			reason = notUTF8
		}
		l.addFinding(Finding{Name: "resource", Attribute: name, Found: shown(v)}, reason, corrected, l.wanted(reason, kindOther, ptrace.NewSpan(), name))
	}
	for _, ss := range rs.ScopeSpans().All() {
		l.scope(rs, ss)
	}
}

func (l *linter) scope(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans) {
	_, _, numbered := methodspan.BatchOf(ss.Scope())
	if resource := methodspan.ReadResource(rs.Resource()); numbered && !resource.Identified() {
		missing := []string{methodspan.ResourceInstance, methodspan.ResourceProcessStart}
		if resource.Instance != "" {
			missing = missing[1:]
		} else if resource.ProcessStartNS != 0 {
			missing = missing[:1]
		}
		for _, name := range missing {
			l.addFinding(Finding{Name: "resource", Attribute: name, Found: foundAmong(rs.Resource().Attributes(), name)}, identityIncomplete, passed, explanations[identityIncomplete].wanted)
		}
	}
	if name := ss.Scope().Name(); !utf8.ValidString(name) {
		l.addFinding(Finding{Name: "scope", Attribute: placeScope, Found: configfile.Quote(name)}, notUTF8, corrected, explanations[notUTF8].wanted)
	}
	once := make(map[faultReason]bool) // faults of the scope
	for _, span := range ss.Spans().All() {
		l.number++
		l.span(rs, ss, span, once)
	}
}

func (l *linter) span(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, span ptrace.Span, once map[faultReason]bool) {
	td := ptrace.NewTraces()
	one := td.ResourceSpans().AppendEmpty()
	rs.Resource().CopyTo(one.Resource())
	scope := one.ScopeSpans().AppendEmpty()
	ss.Scope().CopyTo(scope.Scope())
	scope.Scope().SetName(validUTF8(ss.Scope().Name())) // it was checked before
	span.CopyTo(scope.Spans().AppendEmpty())

	l.pass.reset()
	l.pass.parsed.Parse(span.Attributes(), methodspan.AllFields)
	k := kindOf(&l.pass.parsed)
	l.normalizer.normalize(td, l.pass)
	faults := l.pass.faults
	after := ptrace.NewSpan() // the span as it leaves, empty if it was dropped
	eachSpan(td, func(_ ptrace.ResourceSpans, _ ptrace.ScopeSpans, s ptrace.Span) { after = s })

	l.pass.parsed.Parse(span.Attributes(), methodspan.AllFields)
	for r := range reasonCount {
		for o, n := range faults[r] {
			if n == 0 || (r == batchUnnumbered || r == totalInvalid) && once[r] {
				continue
			}
			once[r] = true
			of := Finding{Span: l.number, Name: span.Name(), SpanID: span.SpanID().String()}
			if r == batchUnnumbered || r == totalInvalid {
				of = Finding{Name: "scope " + configfile.Quote(ss.Scope().Name())}
			}
			places := l.places(r, k, span, after)
			if len(places) == 0 {
				places = []string{placeAttributes}
			}
			for _, name := range places {
				of.Attribute, of.Found = name, foundIn(span, ss.Scope(), name)
				l.addFinding(of, r, faultOutcome(o), l.wanted(r, k, span, name))
			}
		}
	}
	if l.basisOf(span, after) == methodspan.BasisAssumed {
		l.findings = append(l.findings, Finding{Span: l.number, Name: span.Name(), SpanID: span.SpanID().String(), Attribute: placeTraceState, Found: foundIn(span, ss.Scope(), placeTraceState),
			Wanted: "the probability the span was kept with: ot=th:0 for 1, ot=th:c for 0.25, or " + methodspan.AttrP, Reason: reasonNoProbability, Outcome: outcomeAssumed})
	}
}

// basisOf returns the basis of the span when the whole request is normalised.
func (l *linter) basisOf(span, after ptrace.Span) string {
	if basis, ok := l.basis[spanKey{span.TraceID(), span.SpanID()}]; ok && !span.SpanID().IsEmpty() {
		return basis
	}
	v, _ := after.Attributes().Get(methodspan.AttrWeightBasis)
	return v.Str()
}

func (l *linter) addFinding(f Finding, r faultReason, o faultOutcome, wanted string) {
	f.Reason, f.Outcome, f.Wanted = reasonNames[r], outcomeNames[o], wanted
	l.findings = append(l.findings, f)
}

// Fields of a span that are not attributes.
const (
	placeName       = "name"
	placeStart      = "startTimeUnixNano"
	placeEnd        = "endTimeUnixNano"
	placeTraceState = "traceState"
	placeScope      = "scope.name"
	placeAttributes = "attributes" // some of them
)

func foundIn(span ptrace.Span, scope pcommon.InstrumentationScope, place string) string {
	switch place {
	case placeName:
		return configfile.Quote(span.Name())
	case placeStart:
		return strconv.FormatUint(uint64(span.StartTimestamp()), 10)
	case placeEnd:
		return strconv.FormatUint(uint64(span.EndTimestamp()), 10)
	case placeTraceState:
		if span.TraceState().AsRaw() == "" {
			return "absent"
		}
		return configfile.Quote(span.TraceState().AsRaw())
	}
	attributes := span.Attributes()
	if place == methodspan.AttrBatchSeq || place == methodspan.AttrCallsTotal {
		attributes = scope.Attributes()
	}
	return foundAmong(attributes, place)
}

func foundAmong(attributes pcommon.Map, name string) string {
	v, ok := attributes.Get(name)
	if !ok {
		return "absent"
	}
	return shown(v)
}

// shown returns a value as text, cut where it is long.
func shown(v pcommon.Value) string {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return configfile.Quote(v.Str())
	case pcommon.ValueTypeDouble:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	case pcommon.ValueTypeEmpty:
		return "no value"
	}
	const most = 80
	text := v.AsString()
	if text == "" { // an array with a value that JSON cannot represent
		text = v.Type().String()
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// places returns the attributes and fields of a fault of a span: those that were removed or
// changed because of it, else the most likely one.
func (l *linter) places(r faultReason, k kind, span, after ptrace.Span) []string {
	parsed := &l.pass.parsed
	var found []string
	named := func(in func(name string, f methodspan.Field, reserved bool) bool) []string {
		for name := range span.Attributes().All() {
			f, reserved := methodspan.FieldOf(name)
			if in(name, f, reserved) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
		return found
	}
	switch r {
	case attributeDuplicate:
		times := make(map[string]int)
		for name := range span.Attributes().All() {
			times[name]++
		}
		return named(func(name string, f methodspan.Field, _ bool) bool { return f != methodspan.NoField && times[name] > 1 })
	case attributeMisplaced:
		if k == kindForeign {
			return named(func(_ string, f methodspan.Field, reserved bool) bool {
				return reserved && (f == methodspan.NoField || claimedFields(parsed).Has(f))
			})
		}
		return named(func(_ string, f methodspan.Field, _ bool) bool { return misplacedFields(parsed, k).Has(f) })
	case valueInvalid:
		return named(func(_ string, f methodspan.Field, _ bool) bool { return badFields(parsed, k).Has(f) })
	case notUTF8:
		if found = named(func(_ string, f methodspan.Field, _ bool) bool {
			return parsed.NotUTF8.Has(f)
		}); len(found) > 0 {
			return found
		}
		if !utf8.ValidString(span.Name()) {
			return []string{placeName}
		}
		return []string{methodspan.AttrCountsMethods}
	case textTooLong:
		if found = named(func(_ string, f methodspan.Field, _ bool) bool {
			return f.Type() == methodspan.TypeText && len(parsed.Text(f)) > l.normalizer.limits.MaxNameLength
		}); len(found) > 0 {
			return found
		}
		return []string{placeName}
	}
	for _, name := range explanations[r].places {
		if before, ok := span.Attributes().Get(name); ok {
			if now, stayed := after.Attributes().Get(name); !stayed || !now.Equal(before) {
				found = append(found, name)
			}
		}
	}
	if r == processValueInvalid {
		named(func(name string, _ methodspan.Field, _ bool) bool {
			_, stayed := after.Attributes().Get(name)
			return strings.HasPrefix(name, methodspan.AttrSDKPrefix) && !stayed
		})
	}
	if len(found) == 0 {
		found = explanations[r].places[:1]
	}
	if r == timeInvalid && validTime(span.StartTimestamp()) {
		found = []string{placeEnd}
	}
	return found
}

// wanted returns a description of a valid value at place.
func (l *linter) wanted(r faultReason, k kind, span ptrace.Span, place string) string {
	switch r {
	case timeInFuture:
		return "at most " + l.normalizer.tolerance.Future.String() + " after the clock of the collector, " + strconv.FormatInt(l.pass.life.now, 10)
	case timeReversed:
		return "at least " + placeStart + ", " + foundIn(span, pcommon.NewInstrumentationScope(), placeStart)
	case cpuExceedsWall:
		wall := int64(span.EndTimestamp() - span.StartTimestamp())
		if k == kindAggregate {
			wall = l.pass.parsed.Whole(methodspan.FieldWallSum)
		}
		return "at most the wall time, " + strconv.FormatInt(wall, 10) + " ns, within the tolerance of clocks"
	case textTooLong:
		most := l.normalizer.limits.MaxNameLength
		if place == methodspan.AttrStack {
			most = max(most, maxStack)
		}
		return "at most " + strconv.Itoa(most) + " bytes"
	case attributeMisplaced:
		if k == kindForeign {
			return "absent on a span without " + methodspan.AttrKind
		}
		return "absent on a span of kind " + kindNames[k]
	case valueInvalid:
		f, _ := methodspan.FieldOf(place)
		switch f.Type() {
		case methodspan.TypeText:
			return "a string"
		case methodspan.TypeWhole:
			return "a whole number"
		case methodspan.TypeNumber:
			return "a finite number"
		case methodspan.TypeList:
			return "an array"
		default:
			return "a boolean"
		}
	}
	return explanations[r].wanted
}
