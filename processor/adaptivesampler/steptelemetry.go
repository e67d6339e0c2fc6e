package adaptivesampler

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// maxReasons bounds the number of reasons with their own metric label since the start.
const maxReasons = 64

// stepTelemetry holds the gauges set by each step. A series that no longer applies is set to zero. Steps never
// run concurrently.
type stepTelemetry struct {
	methods      map[[2]string]int64 // by tier and class
	reasons      map[[2]string]int64 // by tier and reason
	namedReasons map[string]bool     // reasons with their own label
	costs        map[int]bool        // labels of tiers
}

func (t *telemetry) stepped(ctx context.Context, l *controlLoop, evicted int, kept float64) {
	t.builder.ProcessorAdaptiveSamplerSteps.Add(ctx, 1)
	if evicted > 0 {
		t.builder.ProcessorAdaptiveSamplerEvictions.Add(ctx, int64(evicted))
	}
	t.records(ctx, l, kept)
	t.countMethods(ctx, l.table)
	t.shadowed(ctx, l.table)
}

func (t *telemetry) records(ctx context.Context, l *controlLoop, kept float64) {
	record := func(figure string, perSecond float64) {
		t.builder.ProcessorAdaptiveSamplerRecords.Record(ctx, perSecond, metric.WithAttributes(attribute.String("figure", figure)))
	}
	record("kept", kept)
	if l.strategy == nil {
		return
	}
	record("planned", l.strategy.Stats().Planned)
	if l.config.Strategy == decide.StrategyBudget {
		target := l.config.Budget.RecordsPerSecond
		if l.config.Budget.Per == decide.PerService {
			target *= float64(l.table.services())
		}
		record("target", target)
	}
}

// services returns the number of services. Versions are not counted separately.
func (t *methodTable) services() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make(map[decide.Group]bool, len(t.groups))
	for id := range t.groups {
		id.Version = ""
		all[id] = true
	}
	return len(all)
}

func (t *telemetry) countMethods(ctx context.Context, table *methodTable) {
	s := &t.steps
	for key := range s.methods {
		s.methods[key] = 0
	}
	for key := range s.reasons {
		s.reasons[key] = 0
	}
	table.mu.RLock()
	for m := range table.all() {
		if m == m.group.overflow {
			continue
		}
		d := m.decision
		s.methods[[2]string{t.name(d.label), className(d.class)}]++
		reason := reasonLabel(d)
		if !s.namedReasons[reason] && len(s.namedReasons) >= maxReasons {
			reason = methodspan.Overflow
		}
		s.namedReasons[reason] = true
		s.reasons[[2]string{t.name(d.label), reason}]++
	}
	table.mu.RUnlock()
	for key, n := range s.methods {
		t.builder.ProcessorAdaptiveSamplerMethods.Record(ctx, n, metric.WithAttributes(
			attribute.String("tier", key[0]), attribute.String("class", key[1])))
	}
	for key, n := range s.reasons {
		t.builder.ProcessorAdaptiveSamplerReasons.Record(ctx, n, metric.WithAttributes(
			attribute.String("tier", key[0]), attribute.String("reason", key[1])))
	}
}

// reasonLabel returns a reason without method names.
func reasonLabel(d *decision) string {
	if !d.learned && strings.HasPrefix(d.reason, "methods[") {
		return "method file"
	}
	return d.reason
}

func className(class string) string {
	if class == "" {
		return "(none)"
	}
	return class
}

func (t *telemetry) name(label int) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.names[label]
}

// shadowed records the cost of the tiers in shadow and its relative standard error, both for the rates of the
// arriving measurements and for the computed rates.
func (t *telemetry) shadowed(ctx context.Context, table *methodTable) {
	s := &t.steps
	sums := make(map[int]*shadowError)
	for label := range s.costs {
		sums[label] = &shadowError{}
	}
	table.mu.RLock()
	for m := range table.all() {
		if m.decision.shadow {
			sum := sums[m.decision.label]
			if sum == nil {
				sum = &shadowError{}
				sums[m.decision.label] = sum
			}
			sum.addMethod(m)
		}
	}
	table.mu.RUnlock()
	for label, sum := range sums {
		s.costs[label] = true
		tier := attribute.String("tier", t.name(label))
		for which, e := range map[string]float64{"arriving": sum.relative(sum.arriving), "shadow": sum.relative(sum.shadow)} {
			t.builder.ProcessorAdaptiveSamplerShadowError.Record(ctx, e, metric.WithAttributes(tier, attribute.String("rates", which)))
		}
		t.builder.ProcessorAdaptiveSamplerShadowCost.Record(ctx, sum.usd, metric.WithAttributes(tier))
	}
}
