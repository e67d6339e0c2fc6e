package corehour

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"

	"github.com/corehour/corehour/sdk/internal/export"
	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/sdk/internal/otlp"
)

// encoder writes spans. It belongs to the sender and reuses its buffers.
type encoder struct {
	span  []byte // the one being written
	spans []byte // those done, each tagged as a span of ScopeSpans

	prefix, number uint64 // of invented ids
}

func (w *encoder) reset() {
	for _, buffer := range []*[]byte{&w.span, &w.spans} {
		if cap(*buffer) > export.KeptBuffer {
			*buffer = nil
		}
	}
	w.spans = w.spans[:0]
}

// close ends the span being written.
func (w *encoder) close() { w.spans = otlp.Bytes(w.spans, otlp.ScopeSpansSpans, w.span) }

// ids begins a span with invented ids: a random number of the process, and that of the span. Random
// bytes for each span would be two fifths of a compressed request.
func (w *encoder) ids() {
	if w.prefix == 0 {
		w.prefix = rand.Uint64() | 1 // all zeros would be no id
	}
	w.number++
	var ids [24]byte
	binary.BigEndian.PutUint64(ids[0:], w.prefix)
	binary.BigEndian.PutUint64(ids[8:], w.number)
	binary.BigEndian.PutUint64(ids[16:], w.number)
	w.span = otlp.Bytes(w.span[:0], otlp.SpanTraceID, ids[:16])
	w.span = otlp.Bytes(w.span, otlp.SpanID, ids[16:])
}

// tracedIDs begins a span of a real trace.
func (w *encoder) tracedIDs(t *TraceContext) {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], rand.Uint64()|1)
	w.span = otlp.Bytes(w.span[:0], otlp.SpanTraceID, t.TraceID[:])
	w.span = otlp.Bytes(w.span, otlp.SpanID, id[:])
	w.span = otlp.Bytes(w.span, otlp.SpanParentID, t.SpanID[:])
}

func (w *encoder) times(start, end int64) {
	w.span = otlp.Fixed64(w.span, otlp.SpanStart, uint64(start))
	w.span = otlp.Fixed64(w.span, otlp.SpanEnd, uint64(end))
}

func (w *encoder) text(key, v string) {
	w.span = otlp.StringAttribute(w.span, otlp.SpanAttributes, key, v)
}

func (w *encoder) int(key string, v int64) {
	w.span = otlp.IntAttribute(w.span, otlp.SpanAttributes, key, v)
}

func (w *encoder) double(key string, v float64) {
	w.span = otlp.DoubleAttribute(w.span, otlp.SpanAttributes, key, v)
}

// headOf returns what all measurements of a plan have in common, encoded once.
func headOf(pl *plan) []byte {
	if pl.head == nil {
		pl.head = appendHead(nil, pl.method.name, pl.rate)
	}
	return pl.head
}

func appendHead(b []byte, name string, p float64) []byte {
	b = otlp.String(b, otlp.SpanName, name)
	b = otlp.Uint(b, otlp.SpanKind, otlp.KindInternal)
	b = otlp.StringAttribute(b, otlp.SpanAttributes, attrKind, kindCall)
	b = otlp.StringAttribute(b, otlp.SpanAttributes, attrFunction, name)
	return otlp.DoubleAttribute(b, otlp.SpanAttributes, attrP, p)
}

var (
	stateAttrs = func() (attrs [cpuStates][]byte) {
		for s := range attrs {
			attrs[s] = otlp.StringAttribute(nil, otlp.SpanAttributes, attrCPUState, cpuState(s).String())
		}
		return attrs
	}()
	activatedAttr = otlp.BoolAttribute(nil, otlp.SpanAttributes, attrActivated, true)
	syntheticAttr = otlp.StringAttribute(nil, otlp.SpanAttributes, attrIDs, syntheticIDs)
)

// call writes a measurement. activated: a caller has just switched the method on.
func (w *encoder) call(r *record, start int64, activated bool) {
	if r.traced() {
		w.tracedIDs(&r.extra.trace)
	} else {
		w.ids()
	}
	if r.tail {
		w.span = otlp.String(w.span, otlp.SpanTraceState, keepAll)
		w.span = appendHead(w.span, r.plan.method.name, r.p())
		w.text(attrStratum, stratumTail)
	} else {
		w.traceState(r.plan)
		w.span = append(w.span, headOf(r.plan)...)
	}
	w.times(start, start+r.wall)
	w.double(attrCPUP, r.cpuP())
	w.span = append(w.span, stateAttrs[r.state]...)
	if r.state == cpuExact {
		w.int(attrCPUTime, r.cpu)
		w.waits(int64(r.waits))
	}
	if r.caller != nil {
		w.span = append(w.span, r.caller.Attribute...)
	}
	if r.extra != nil && r.extra.stack != "" {
		w.text(attrStack, r.extra.stack)
	}
	w.activated(activated)
	if r.traced() {
		w.correlation(&r.extra.trace)
	} else {
		w.span = append(w.span, syntheticAttr...)
	}
	if r.failed {
		w.span = otlp.Status(w.span, otlp.StatusError)
	}
	w.close()
}

// activated writes that a caller has just switched the method on.
func (w *encoder) activated(is bool) {
	if is {
		w.span = append(w.span, activatedAttr...)
	}
}

// waits writes how often calls gave up the processor, which few do.
func (w *encoder) waits(n int64) {
	if n > 0 {
		w.int(attrCPUWaits, n)
	}
}

func (w *encoder) correlation(t *TraceContext) {
	if t.RequestID != "" {
		w.text(attrRequestID, otlp.Text(t.RequestID))
	}
	if t.Group != "" {
		w.text(attrGroup, otlp.Text(t.Group))
	}
}

// traceState writes the rejection threshold of the rate, and a random value drawn
// from those it does not reject, as any tool that thins further expects it.
func (w *encoder) traceState(pl *plan) {
	var state [64]byte
	b := append(state[:0], "ot=th:"...)
	b = append(b, pl.th...)
	b = append(b, ";rv:"...)
	rv := pl.threshold + rand.Uint64N(max(1, randomness-pl.threshold))
	var digits [14]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = "0123456789abcdef"[rv&15]
		rv >>= 4
	}
	b = append(b, digits[:]...)
	w.span = otlp.Bytes(w.span, otlp.SpanTraceState, b)
}

// never thinned: what stands for many calls, or was kept in any case, has threshold 0.
const keepAll = "ot=th:0"

func (w *encoder) summary(name, kind string, start, end int64) {
	w.ids()
	w.span = otlp.String(w.span, otlp.SpanTraceState, keepAll)
	w.span = otlp.String(w.span, otlp.SpanName, name)
	w.span = otlp.Uint(w.span, otlp.SpanKind, otlp.KindInternal)
	w.times(start, end)
	w.text(attrKind, kind)
	w.span = append(w.span, syntheticAttr...)
}

// aggregate writes a cell. activated: a caller has just switched the method on.
func (w *encoder) aggregate(c *cell, threadClock, activated bool) {
	w.summary(c.method.name, kindAggregate, c.first, c.last)
	w.text(attrFunction, c.method.name)
	w.double(attrP, c.p)
	w.double(attrCPUP, c.cpuP)
	if c.tail {
		w.text(attrStratum, stratumTail)
	}
	w.activated(activated)
	state := cpuNotSampled
	if c.cpu.n > 0 {
		state = cpuExact
	} else if c.cpuP > 0 && !threadClock {
		state = cpuUnavailable
	}
	w.span = append(w.span, stateAttrs[state]...)
	w.int(attrMeasured, c.wall.n)
	w.int(attrCPUCount, c.cpu.n)
	w.int(attrErrors, c.errors)
	if c.caller != nil {
		w.span = append(w.span, c.caller.Attribute...)
	}
	w.sums(attrWall, &c.wall)
	if c.cpu.n > 0 {
		w.sums(attrCPU, &c.cpu)
		w.waits(c.waits)
	}
	w.close()
}

func (w *encoder) sums(prefix string, s *durationSums) {
	w.int(prefix+".sum", s.total)
	w.double(prefix+".sum_squares", s.squares)
	w.int(prefix+".max", s.max)
	var bins []int64
	var counts []float64
	s.bins.Each(func(bin int, n uint32) {
		bins = append(bins, int64(bin))
		counts = append(counts, float64(n))
	})
	w.span = otlp.IntsAttribute(w.span, otlp.SpanAttributes, prefix+".bins", len(bins), func(i int) int64 { return bins[i] })
	w.span = otlp.DoublesAttribute(w.span, otlp.SpanAttributes, prefix+".counts", len(counts), func(i int) float64 { return counts[i] })
}

// counts writes how often each method was called in an interval, or since it was switched on.
func (w *encoder) counts(iv *interval) {
	whole := len(iv.methods) - iv.recent
	steady := whole - iv.activated
	w.countsFrom(iv.start, iv.end, iv.methods[:steady], iv.calls[:steady], false)
	w.countsFrom(iv.start, iv.end, iv.methods[steady:whole], iv.calls[steady:whole], true)
	w.countsFrom(iv.recentOn, iv.end, iv.methods[whole:], iv.calls[whole:], true)
}

func (w *encoder) countsFrom(start, end int64, methods []*Method, calls []int64, activated bool) {
	if len(methods) == 0 {
		return
	}
	w.summary(nameCounts, kindCounts, start, end)
	w.span = otlp.StringsAttribute(w.span, otlp.SpanAttributes, attrMethods, len(methods), func(i int) string { return methods[i].name })
	w.span = otlp.IntsAttribute(w.span, otlp.SpanAttributes, attrCalls, len(calls), func(i int) int64 { return calls[i] })
	w.activated(activated)
	w.close()
}

// process writes what the process used in an interval, and in those it absorbed, and
// how the SDK fares.
func (w *encoder) process(iv *interval, s *Snapshot) {
	w.summary(nameProcess, kindProcess, iv.end-iv.lasted, iv.end)
	if iv.cpuKnown {
		w.int(attrCPUTime, iv.cpu)
	}
	w.int(attrCores, int64(runtime.GOMAXPROCS(0)))
	if cores := machine().Cores; cores > 0 {
		w.int(attrHostCores, int64(cores))
	}
	if limit := machine().CPULimit; limit > 0 {
		w.double(attrLimit, limit)
	}
	if rss, ok := hostclock.ProcessRSS(); ok {
		w.int(attrRSS, rss)
	}
	w.span = otlp.BoolAttribute(w.span, otlp.SpanAttributes, attrFinal, iv.final)
	for _, counter := range s.list() {
		w.int(attrCounter+counter.name, counter.value)
	}
	w.int(attrCounter+"own.cpu_ns", iv.sdk)
	w.close()
}

// request appends the spans written so far. served says that rates of a collector are in
// force: one that is new to this process leaves them as they are.
func (w *encoder) request(body, resource []byte, process string, seq uint64, callsTotal int64, served bool) []byte {
	scope := otlp.String(nil, otlp.ScopeName, scopeName)
	scope = otlp.String(scope, otlp.ScopeVersion, Version)
	scope = otlp.StringAttribute(scope, otlp.ScopeAttributes, attrProcessID, process)
	scope = otlp.IntAttribute(scope, otlp.ScopeAttributes, attrBatch, int64(seq))
	scope = otlp.IntAttribute(scope, otlp.ScopeAttributes, attrCallsTotal, callsTotal)
	if served {
		scope = otlp.BoolAttribute(scope, otlp.ScopeAttributes, attrServed, true)
	}
	return otlp.Request(body, resource, scope, w.spans)
}
