package corehour

import (
	"runtime"

	"github.com/corehour/corehour/sdk/internal/export"
	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/sdk/internal/otlp"
	"github.com/corehour/corehour/sdk/internal/spans"
)

// encode appends the body of a request.
func (e *engine) encode(body []byte, r *request) []byte {
	w := encoder{&e.spans}
	w.Reset(export.KeptBuffer)
	for i := range r.records {
		rec := &r.records[i]
		start := e.unix(rec.start)
		w.call(rec, start, e.activated(rec.plan.method, start))
	}
	for _, c := range r.cells {
		w.aggregate(c, e.threadClock, e.activated(c.method, c.first))
	}
	for _, iv := range r.intervals {
		w.counts(iv)
		w.process(iv, r.stats)
	}
	scope := spans.Scope{Version: Version, Process: processID(), Batch: r.seq, CallsTotal: r.total, Served: e.ratesServed.Load()}
	return w.Request(body, e.resource, scope)
}

// encoder writes the engine's data as spans.
type encoder struct{ *spans.Writer }

// headOf returns the encoded attributes that all measurements of a plan share, encoded once.
func headOf(pl *plan) []byte {
	if pl.head == nil {
		pl.head = spans.Head(pl.method.name, pl.rate)
	}
	return pl.head
}

var (
	stateAttrs = func() (attrs [cpuStates][]byte) {
		for s := range attrs {
			attrs[s] = otlp.StringAttribute(nil, otlp.SpanAttributes, spans.AttrCPUState, cpuState(s).String())
		}
		return attrs
	}()
	activatedAttr = otlp.BoolAttribute(nil, otlp.SpanAttributes, spans.AttrActivated, true)
)

// call writes a measurement. activated means that a caller has just switched the method on.
func (w encoder) call(r *record, start int64, activated bool) {
	if r.traced() {
		w.BeginTraced(r.extra.trace.TraceID, r.extra.trace.SpanID)
	} else {
		w.Begin()
	}
	if r.tail {
		w.KeepAll()
		w.Append(spans.Head(r.plan.method.name, r.p()))
		w.Text(spans.AttrStratum, spans.StratumTail)
	} else {
		w.Sampled(r.plan.threshold)
		w.Append(headOf(r.plan))
	}
	w.Times(start, start+r.wall)
	w.Double(spans.AttrCPUP, r.cpuP())
	w.Append(stateAttrs[r.state])
	if r.state == cpuExact {
		w.Int(spans.AttrCPUTime, r.cpu)
		w.waits(int64(r.waits))
	}
	if r.caller != nil {
		w.Append(r.caller.Attribute)
	}
	if r.extra != nil && r.extra.stack != "" {
		w.Text(spans.AttrStack, r.extra.stack)
	}
	w.activated(activated)
	if r.traced() {
		w.correlation(&r.extra.trace)
	} else {
		w.Append(spans.Synthetic)
	}
	if r.failed {
		w.Failed()
	}
	w.End()
}

// activated writes the attribute for a method that a caller has just switched on.
func (w encoder) activated(is bool) {
	if is {
		w.Append(activatedAttr)
	}
}

// waits writes how often calls gave up the processor, unless it is 0, as for most calls.
func (w encoder) waits(n int64) {
	if n > 0 {
		w.Int(spans.AttrCPUWaits, n)
	}
}

func (w encoder) correlation(t *TraceContext) {
	if t.RequestID != "" {
		w.Text(spans.AttrRequestID, otlp.Text(t.RequestID))
	}
	if t.Group != "" {
		w.Text(spans.AttrGroup, otlp.Text(t.Group))
	}
}

// aggregate writes a cell. activated means that a caller has just switched the method on.
func (w encoder) aggregate(c *cell, threadClock, activated bool) {
	w.BeginSummary(c.method.name, spans.KindAggregate, c.first, c.last)
	w.Text(spans.AttrFunction, c.method.name)
	w.Double(spans.AttrP, c.p)
	w.Double(spans.AttrCPUP, c.cpuP)
	if c.tail {
		w.Text(spans.AttrStratum, spans.StratumTail)
	}
	w.activated(activated)
	state := cpuNotSampled
	if c.cpu.n > 0 {
		state = cpuExact
	} else if c.cpuP > 0 && !threadClock {
		state = cpuUnavailable
	}
	w.Append(stateAttrs[state])
	w.Int(spans.AttrMeasured, c.wall.n)
	w.Int(spans.AttrCPUCount, c.cpu.n)
	w.Int(spans.AttrErrors, c.errors)
	if c.caller != nil {
		w.Append(c.caller.Attribute)
	}
	w.sums(spans.AttrWall, &c.wall)
	if c.cpu.n > 0 {
		w.sums(spans.AttrCPU, &c.cpu)
		w.waits(c.waits)
	}
	w.End()
}

func (w encoder) sums(prefix string, s *durationSums) {
	w.Int(prefix+".sum", s.total)
	w.Double(prefix+".sum_squares", s.squares)
	w.Int(prefix+".max", s.max)
	var bins []int64
	var counts []float64
	s.bins.Each(func(bin int, n uint32) {
		bins = append(bins, int64(bin))
		counts = append(counts, float64(n))
	})
	w.Ints(prefix+".bins", bins)
	w.Doubles(prefix+".counts", counts)
}

// counts writes the calls of each method in an interval, or since its activation.
func (w encoder) counts(iv *interval) {
	whole := len(iv.methods) - iv.recent
	steady := whole - iv.activated
	w.countsFrom(iv.start, iv.end, iv.methods[:steady], iv.calls[:steady], false)
	w.countsFrom(iv.start, iv.end, iv.methods[steady:whole], iv.calls[steady:whole], true)
	w.countsFrom(iv.recentOn, iv.end, iv.methods[whole:], iv.calls[whole:], true)
}

func (w encoder) countsFrom(start, end int64, methods []*Method, calls []int64, activated bool) {
	if len(methods) == 0 {
		return
	}
	w.BeginSummary(spans.NameCounts, spans.KindCounts, start, end)
	w.Texts(spans.AttrMethods, len(methods), func(i int) string { return methods[i].name })
	w.Ints(spans.AttrCalls, calls)
	w.activated(activated)
	w.End()
}

// process writes the resource use of the process in an interval and those it absorbed, and the
// SDK's own counters.
func (w encoder) process(iv *interval, s *Snapshot) {
	w.BeginSummary(spans.NameProcess, spans.KindProcess, iv.end-iv.lasted, iv.end)
	if iv.cpuKnown {
		w.Int(spans.AttrCPUTime, iv.cpu)
	}
	w.Int(spans.AttrCores, int64(runtime.GOMAXPROCS(0)))
	if cores := machine().Cores; cores > 0 {
		w.Int(spans.AttrHostCores, int64(cores))
	}
	if limit := machine().CPULimit; limit > 0 {
		w.Double(spans.AttrLimit, limit)
	}
	if rss, ok := hostclock.ProcessRSS(); ok {
		w.Int(spans.AttrRSS, rss)
	}
	w.Bool(spans.AttrFinal, iv.final)
	for _, counter := range s.list() {
		w.Int(spans.AttrCounter+counter.name, counter.value)
	}
	w.Int(spans.AttrCounter+"own.cpu_ns", iv.sdk)
	w.End()
}
