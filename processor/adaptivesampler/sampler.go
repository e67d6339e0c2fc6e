package adaptivesampler

import (
	"context"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processorhelper"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/methodspan"
)

// sampler is the processor.
type sampler struct {
	telemetry *telemetry
	random    func() uint64
	file      *configfile.Live[*rules] // nil without a method file
	fixed     *rules                   // in force without a method file
}

func newSampler(cfg *Config, set component.TelemetrySettings, random func() uint64) (*sampler, error) {
	t, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	s := &sampler{telemetry: t, random: random}
	if cfg.MethodsFile == "" {
		s.fixed = withoutFile(cfg.DefaultRate, t.label)
		return s, nil
	}
	source := configfile.Source[*rules]{
		Key: "methods_file", Path: cfg.MethodsFile, Strict: cfg.Strict,
		Parse: func(data []byte) (*rules, []configfile.Warning, error) {
			file, warnings, err := methodfile.Parse(data)
			if err != nil {
				return nil, nil, err
			}
			return compile(file, cfg.DefaultRate, t.label), warnings, nil
		},
	}
	s.file = configfile.NewLive(source, set.Logger, t.reloaded)
	return s, nil
}

func (s *sampler) start(context.Context, component.Host) error {
	if s.file == nil {
		return nil
	}
	return s.file.Start()
}

func (s *sampler) shutdown(context.Context) error {
	if s.file != nil {
		s.file.Shutdown()
	}
	s.telemetry.shutdown()
	return nil
}

func (s *sampler) rules() *rules {
	if s.file == nil {
		return s.fixed
	}
	return *s.file.Get()
}

// process goes over a batch once. All of it follows one state of the rules.
func (s *sampler) process(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	p := pass{reading: s.rules().begin(), random: s.random}
	p.visit = p.measurement.visit
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		before := rs.ScopeSpans().Len()
		rs.ScopeSpans().RemoveIf(p.emptied)
		return before > 0 && rs.ScopeSpans().Len() == 0
	})
	p.reading.end()
	p.tally.uncached = p.reading.full
	s.telemetry.record(ctx, &p.tally)
	if td.ResourceSpans().Len() == 0 {
		return td, processorhelper.ErrSkipProcessingData
	}
	return td, nil
}

// pass is one way over a batch.
type pass struct {
	reading     reading
	random      func() uint64
	scope       string
	tally       tally
	measurement measurement
	visit       func(string, pcommon.Value) bool
}

// emptied goes over a scope and tells whether nothing of it is left.
func (p *pass) emptied(ss ptrace.ScopeSpans) bool {
	spans := ss.Spans()
	before := spans.Len()
	p.scope = ss.Scope().Name()
	spans.RemoveIf(p.drop)
	return before > 0 && spans.Len() == 0
}

// drop decides about a span, and stamps what stays.
func (p *pass) drop(span ptrace.Span) bool {
	m := &p.measurement
	m.read(span, p.visit)
	switch m.kind {
	case methodspan.KindCall, methodspan.KindAggregate, methodspan.KindCounts:
	case methodspan.KindProcess:
		p.tally.spans[noTier][exempt]++
		return false
	default:
		p.tally.spans[noTier][other]++
		return false
	}
	d := p.reading.lookup(m.key(span, p.scope))
	became := p.decide(span, d)
	p.tally.spans[d.label][became]++
	return became == thinnedOut || became == off
}

func (p *pass) decide(span ptrace.Span, d *decision) outcome {
	m := &p.measurement
	switch {
	case m.kind == methodspan.KindCounts: // a method that is off has been called all the same
		stamp(span, m, d, 0)
		return exempt
	case d.off(): // all its measurements, or the rest would stand for all of it
		return off
	case m.kind == methodspan.KindAggregate:
		stamp(span, m, d, m.p)
		return exempt
	case m.stratum == methodspan.StratumTail:
		stamp(span, m, d, m.p)
		return tail
	case !m.hasP:
		return unweighted
	}
	if d.rate >= 1 { // nothing to decide: the trace state need not be read
		stamp(span, m, d, m.p)
		return kept
	}
	foreign := m.basis != "" && m.basis != methodspan.BasisExact
	a, contradicts := arrive(m.p, foreign, span.TraceState().AsRaw(), span.TraceID())
	if contradicts != noContradiction {
		p.tally.contradictions[contradicts]++
	}
	result := a.thin(d, p.random)
	if !result.keep {
		return thinnedOut
	}
	if result.p != m.p {
		m.pValue.SetDouble(result.p)
	}
	switch {
	case result.th:
		setThreshold(span, d, result.rv)
	case a.stale:
		methodspan.ClearThreshold(span)
	}
	stamp(span, m, d, result.p)
	return kept
}

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

// stamp says what was decided and why; effective is the probability after this
// stage, 0 where there is none.
func stamp(span ptrace.Span, m *measurement, d *decision, effective float64) {
	attributes := span.Attributes()
	attributes.EnsureCapacity(attributes.Len() + 4)
	if d.tier != "" {
		attributes.PutStr(methodspan.AttrTier, d.tier)
	} else if m.hasTier {
		attributes.Remove(methodspan.AttrTier)
	}
	attributes.PutStr(methodspan.AttrReason, d.reason)
	if !d.off() {
		attributes.PutDouble(methodspan.AttrConfiguredRate, d.rate)
	}
	if effective > 0 {
		attributes.PutDouble(methodspan.AttrEffectiveRate, effective)
	}
}
