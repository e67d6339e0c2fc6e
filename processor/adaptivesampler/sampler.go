package adaptivesampler

import (
	"context"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processorhelper"
	"go.uber.org/zap"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/internal/shares"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// sampler is the processor.
type sampler struct {
	id        component.ID
	config    *Config
	log       *zap.Logger
	telemetry *telemetry
	random    func() uint64
	prepare   *preparer
	file      *configfile.Live[*methodfile.File] // nil without a method file
	prices    *configfile.Live[*pricebook.Book]  // nil without a price book
	table     *methodTable
	loop      *controlLoop
	resends   resends
}

func newSampler(cfg *Config, id component.ID, set component.TelemetrySettings, strategy decide.Strategy, random func() uint64) (*sampler, error) {
	t, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	shadow, err := shadowOf(cfg.Shadow)
	if err != nil {
		return nil, err
	}
	s := &sampler{id: id, config: cfg, log: set.Logger, telemetry: t, random: random,
		prepare: &preparer{defaultRate: cfg.DefaultRate, shadow: shadow, label: t.label}}
	s.table = newMethodTable(cfg.MaxMethods, s.prepare, meterOf(&cfg.Scorecard), newIntervalLimits(cfg))
	s.table.thinsCold = cfg.ColdStart.Thin
	s.loop = newControlLoop(s, strategy)
	if strategy != nil {
		s.table.decides = true
		s.table.unknown = s.loop.unknownOf(decide.Group{})
	}
	if cfg.PriceBook != "" {
		s.prices = configfile.NewLive(cfg.prices(), set.Logger, func(bool) {})
	}
	if cfg.MethodsFile == "" {
		s.table.adopt(withoutFile(s.prepare))
		return s, nil
	}
	source := configfile.Source[*methodfile.File]{
		Key: "methods_file", Path: cfg.MethodsFile, Strict: cfg.Strict, Parse: methodfile.Parse,
	}
	s.file = configfile.NewLive(source, set.Logger, s.reloaded)
	return s, nil
}

func (s *sampler) start(_ context.Context, host component.Host) error {
	if s.prices != nil {
		if err := s.prices.Start(); err != nil {
			return err
		}
	}
	if s.file != nil {
		if err := s.file.Start(); err != nil {
			return err
		}
		s.table.adopt(compile(*s.file.Get(), s.prepare))
	}
	return s.loop.start(host)
}

func (s *sampler) reloaded(applied bool) {
	s.telemetry.reloaded(applied)
	if applied {
		s.loop.fileChanged(*s.file.Get())
	}
}

func (s *sampler) shutdown(context.Context) error {
	if s.prices != nil {
		s.prices.Shutdown()
	}
	if s.file != nil {
		s.file.Shutdown()
	}
	s.loop.shutdown()
	s.telemetry.shutdown()
	return nil
}

// process handles a batch. All its spans see the same version of the rates.
func (s *sampler) process(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	p := batchPass{reading: s.table.begin(shares.SenderOf(ctx)), now: time.Now(), random: s.random, resends: &s.resends}
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		p.resource.Read(rs.Resource())
		p.reading.enter(groupOf(&p.resource), s.priceOf(&p.resource))
		before := rs.ScopeSpans().Len()
		rs.ScopeSpans().RemoveIf(p.emptied)
		return before > 0 && rs.ScopeSpans().Len() == 0
	})
	p.reading.end(p.now)
	p.tally.overflow = p.reading.overflow
	s.telemetry.record(ctx, &p.tally)
	if td.ResourceSpans().Len() == 0 {
		return td, processorhelper.ErrSkipProcessingData
	}
	return td, nil
}

// batchPass is the state of processing one batch.
type batchPass struct {
	reading     batchLookup
	now         time.Time
	random      func() uint64
	resends     *resends
	resource    methodspan.ParsedResource
	scope       string
	known       bool // the scope was learned before
	served      bool // its process uses rates that a collector served
	tally       batchCounts
	measurement measurement
	arrived     arrivedCounts
}

// emptied processes a scope and reports whether all its spans were dropped.
func (p *batchPass) emptied(ss ptrace.ScopeSpans) bool {
	spans := ss.Spans()
	before := spans.Len()
	p.scope = ss.Scope().Name()
	p.known = p.resends.again(&p.resource, ss)
	served, ok := ss.Scope().Attributes().Get(methodspan.AttrRatesServed)
	if p.served = ok && served.Bool(); p.served {
		p.reading.beginTakeover(p.now)
	}
	spans.RemoveIf(p.drop)
	p.arrived.appendTo(spans)
	return before > 0 && spans.Len() == 0
}

// drop decides about a span, stamps it if kept, and reports whether to drop it.
func (p *batchPass) drop(span ptrace.Span) bool {
	m := &p.measurement
	m.read(span)
	switch m.kind() {
	case methodspan.KindCall, methodspan.KindAggregate, methodspan.KindCounts:
	case methodspan.KindProcess:
		p.reading.group.takeover.reported()
		p.tally.spans[noTier][exempt]++
		return false
	default:
		p.tally.spans[noTier][other]++
		return false
	}
	method, decided := p.reading.lookup(keyOf(m, span, p.scope))
	d := decided
	if held := method.held.Load(); held != nil && decided == method.decision {
		d = held
	}
	arrived, became := p.decide(span, d)
	dropped := became == thinnedOut || became == limited || became == off
	p.tally.spans[d.label][became]++
	if d.countsOnArrival(arrived, became) && m.countsItself() {
		p.arrived.addSpan(span, m, p.scope, d, arrived)
		if !dropped {
			span.Attributes().PutInt(methodspan.AttrCalls, 0)
		}
	}
	if !p.known {
		p.reading.table.learn(method, span, m, arrived, !dropped, asked(decided, d, arrived, became))
	}
	if became == kept {
		p.reading.countKept(decided, p.now)
	}
	return dropped
}

// asked returns the part of a record that the decided rate would keep without the cut of a limit.
func asked(decided, d *decision, arrived float64, became spanOutcome) float64 {
	switch {
	case became != kept && became != thinnedOut && became != limited:
		return 0
	case d != decided && arrived > 0:
		return min(1, decided.rate/arrived)
	case became == kept:
		return 1
	}
	return 0
}

// decide returns the probability with which the span arrived, or 0 without one, and the outcome of the span.
func (p *batchPass) decide(span ptrace.Span, d *decision) (float64, spanOutcome) {
	m := &p.measurement
	switch {
	case d.shadow:
		p.shadow(d)
		return m.p, reported
	case m.kind() == methodspan.KindCounts: // a method that is off has been called, too
		stamp(span, m, d, 0)
		return 0, exempt
	case d.off(): // all its measurements are dropped: some alone would represent all calls
		return m.p, off
	case m.kind() == methodspan.KindAggregate:
		stamp(span, m, d, m.p)
		return m.p, exempt
	case m.Text(methodspan.FieldStratum) == methodspan.StratumTail:
		stamp(span, m, d, m.p)
		return m.p, tail
	case m.p == 0:
		return 0, unweighted
	}
	if p.served && m.p <= d.cold {
		stamp(span, m, d, m.p)
		span.Attributes().PutStr(methodspan.AttrReason, reasonTakenOver)
		span.Attributes().PutDouble(methodspan.AttrConfiguredRate, m.p)
		return m.p, kept
	}
	if d.rate >= 1 { // nothing to decide: skip reading the trace state
		stamp(span, m, d, m.p)
		return m.p, kept
	}
	a, contradicts := arrivalOf(m.p, m.foreign(), span.TraceState().AsRaw(), span.TraceID())
	if contradicts != noContradiction {
		p.tally.contradictions[contradicts]++
	}
	result := a.thin(d, p.random)
	if !result.keep {
		if d.held {
			return a.p, limited
		}
		return a.p, thinnedOut
	}
	if result.p != m.p {
		span.Attributes().PutDouble(methodspan.AttrP, result.p)
	}
	switch {
	case result.th:
		setThreshold(span, d, result.rv)
	case a.stale:
		methodspan.ClearThreshold(span)
	}
	stamp(span, m, d, result.p)
	return a.p, kept
}

// reasonTakenOver is the reason of measurements that keep the rate of their previous collector, because that rate
// results from the learning there.
const reasonTakenOver = "rate of the collector before"

func setThreshold(span ptrace.Span, d *decision, rv *sampling.Randomness) {
	value := ""
	if rv != nil {
		value = rv.RValue()
	}
	if state, ok := plainState(span.TraceState().AsRaw(), d.tvalue, value); ok {
		span.TraceState().FromRaw(state)
		return
	}
	methodspan.SetThreshold(span, d.threshold, rv)
}

// previews is spare capacity for the attributes that cost_attribution adds after the sampler. Growing the list
// again for them would double their cost.
const previews = 2

// stamp writes the decision and its reason. The probability after this stage is corehour.p and needs no other
// attribute. If an earlier stage has written an effective rate, stamp updates it, unless effective is 0: then
// the span has no probability.
func stamp(span ptrace.Span, m *measurement, d *decision, effective float64) {
	attributes := span.Attributes()
	stamps := 2
	if d.tier != "" {
		stamps++
	}
	attributes.EnsureCapacity(attributes.Len() + stamps + previews)
	if d.tier != "" {
		attributes.PutStr(methodspan.AttrTier, d.tier)
	} else if m.Seen.Has(methodspan.FieldTier) {
		attributes.Remove(methodspan.AttrTier)
	}
	attributes.PutStr(methodspan.AttrReason, d.reason)
	if !d.off() {
		attributes.PutDouble(methodspan.AttrConfiguredRate, d.rate)
	}
	if m.Seen.Has(methodspan.FieldEffectiveRate) && effective > 0 {
		attributes.PutDouble(methodspan.AttrEffectiveRate, effective)
	}
}
