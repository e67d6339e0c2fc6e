package costattribution

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/pricebook"
)

// pricer is the processor.
type pricer struct {
	telemetry *telemetry
	log       *zap.Logger
	previews  bool
	file      *configfile.Live[*pricebook.Book] // nil without a price book
	fixed     *pricebook.Book                   // in force without a price book
}

func newPricer(cfg *Config, set component.TelemetrySettings) (*pricer, error) {
	t, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	p := &pricer{telemetry: t, log: set.Logger, previews: cfg.Previews}
	switch {
	case cfg.PriceBook != "":
		p.file = configfile.NewLive(cfg.source(), set.Logger, t.reloaded)
	case cfg.Prices != nil:
		p.fixed, _ = cfg.Prices.book() // repeated entries are errors of the configuration
	default:
		p.fixed = pricebook.Empty()
	}
	return p, nil
}

func (p *pricer) start(context.Context, component.Host) error {
	if p.file != nil {
		return p.file.Start()
	}
	if p.fixed.None() {
		p.log.Info("no prices are configured: list prices are used for the machines that have one, the rest is unpriced", zap.Strings("keys", []string{"price_book", "prices"}))
	}
	return nil
}

func (p *pricer) shutdown(context.Context) error {
	if p.file != nil {
		p.file.Shutdown()
	}
	p.telemetry.shutdown()
	return nil
}

func (p *pricer) book() *pricebook.Book {
	if p.file == nil {
		return p.fixed
	}
	return *p.file.Get()
}

func (p *pricer) process(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	b := p.book()
	var counted batchCounts
	var spent spend
	var resource methodspan.ParsedResource
	for _, rs := range td.ResourceSpans().All() {
		if !hasMethodSpans(rs) {
			continue // other traces pass unchanged
		}
		resource.Read(rs.Resource())
		v := b.Lookup(pricebook.PlaceOf(&resource.Resource))
		stamp(v, rs.Resource().Attributes())
		spent.reset()
		for _, ss := range rs.ScopeSpans().All() {
			counted[v.Outcome] += int64(ss.Spans().Len())
			if p.previews {
				spent.preview(ss.Spans(), v.USD)
			}
		}
		p.telemetry.spend.record(ctx, resource.Service, &spent)
	}
	p.telemetry.record(ctx, &counted)
	return td, nil
}

// hasMethodSpans reports whether any span is a method span; in our pipelines the first span is.
func hasMethodSpans(rs ptrace.ResourceSpans) bool {
	for _, ss := range rs.ScopeSpans().All() {
		for _, span := range ss.Spans().All() {
			if _, ok := span.Attributes().Get(methodspan.AttrKind); ok {
				return true
			}
		}
	}
	return false
}

// stamp writes the price to a resource. It replaces a sender's price, because the operator of the collector
// decides the cost of a core.
func stamp(v *pricebook.Found, attributes pcommon.Map) {
	if v.USD > 0 {
		attributes.PutDouble(methodspan.AttrPrice, v.USD)
	} else {
		attributes.Remove(methodspan.AttrPrice)
	}
	attributes.PutStr(methodspan.AttrPriceSource, v.Source)
}
