package costattribution

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/corehour/corehour/processor/costattribution/internal/metadata"
)

const (
	maxServices = 200
	maxTiers    = 20
	// other is the label of services and tiers beyond the bounds.
	other   = "(other)"
	noTier  = "(none)"
	noOwner = "(none)"
)

// amount is CPU time and its price.
type amount struct{ nanos, usd float64 }

func (a *amount) add(nanos, usdPerCoreHour float64) {
	a.nanos += nanos
	a.usd += nanos / nanosPerHour * usdPerCoreHour
}

// spend is the spending of one resource of a batch: the CPU time of its process, which is exact, and by tier
// that of entry calls. Entry calls contain all calls below them, so their sum counts nothing twice.
type spend struct {
	process amount
	tiers   []string // few: searched in order
	entries []amount
}

func (s *spend) reset() { *s = spend{tiers: s.tiers[:0], entries: s.entries[:0]} }

func (s *spend) addEntry(tier string, nanos, usdPerCoreHour float64) {
	if tier == "" {
		tier = noTier
	}
	at := slices.Index(s.tiers, tier)
	if at < 0 {
		s.tiers, s.entries = append(s.tiers, tier), append(s.entries, amount{})
		at = len(s.tiers) - 1
	}
	s.entries[at].add(nanos, usdPerCoreHour)
}

// spendMeter adds spends to metrics by service and tier. Labels are created once, for at most maxServices
// services and maxTiers tiers.
type spendMeter struct {
	builder  *metadata.TelemetryBuilder
	mu       sync.RWMutex
	services map[string]metric.AddOption
	tiers    map[string]bool
	pairs    map[[2]string]metric.AddOption
}

func newSpendMeter(builder *metadata.TelemetryBuilder) *spendMeter {
	return &spendMeter{builder: builder, services: map[string]metric.AddOption{}, tiers: map[string]bool{}, pairs: map[[2]string]metric.AddOption{}}
}

func (m *spendMeter) record(ctx context.Context, service string, s *spend) {
	if s.process == (amount{}) && len(s.tiers) == 0 {
		return
	}
	service = cmp.Or(service, noOwner)
	if s.process.nanos > 0 {
		of := m.ofService(service)
		m.builder.ProcessorCostAttributionProcessCoreHours.Add(ctx, s.process.nanos/nanosPerHour, of)
		if s.process.usd > 0 {
			m.builder.ProcessorCostAttributionProcessCost.Add(ctx, s.process.usd, of)
		}
	}
	for i, tier := range s.tiers {
		of := m.ofTier(service, tier)
		m.builder.ProcessorCostAttributionEntryCoreHours.Add(ctx, s.entries[i].nanos/nanosPerHour, of)
		if s.entries[i].usd > 0 {
			m.builder.ProcessorCostAttributionEntryCost.Add(ctx, s.entries[i].usd, of)
		}
	}
}

func (m *spendMeter) ofService(service string) metric.AddOption {
	m.mu.RLock()
	of := m.services[service]
	m.mu.RUnlock()
	if of != nil {
		return of
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	service = m.boundedService(service)
	return m.services[service]
}

// boundedService returns the service while there is room, and other beyond that. m.mu guards the set.
func (m *spendMeter) boundedService(service string) string {
	if m.services[service] != nil {
		return service
	}
	if len(m.services) >= maxServices {
		service = other
	}
	if m.services[service] == nil {
		m.services[service] = metric.WithAttributeSet(attribute.NewSet(attribute.String("service", service)))
	}
	return service
}

func (m *spendMeter) ofTier(service, tier string) metric.AddOption {
	m.mu.RLock()
	of := m.pairs[[2]string{service, tier}]
	m.mu.RUnlock()
	if of != nil {
		return of
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	service = m.boundedService(service)
	if !m.tiers[tier] && len(m.tiers) >= maxTiers {
		tier = other
	}
	m.tiers[tier] = true
	pair := [2]string{service, tier}
	if m.pairs[pair] == nil {
		m.pairs[pair] = metric.WithAttributeSet(attribute.NewSet(attribute.String("service", service), attribute.String("tier", tier)))
	}
	return m.pairs[pair]
}
