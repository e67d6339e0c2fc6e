package adaptivesampler

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/metadata"
)

// outcome is what became of a span.
type outcome uint8

const (
	kept       outcome = iota
	thinnedOut         // not kept by the rate
	off                // the method is off
	tail               // every call above a threshold: kept by right
	exempt             // counts, aggregates and process reports
	unweighted         // a measurement without a probability: nothing can be decided
	other              // no method span
	outcomeCount
)

var outcomeNames = [outcomeCount]string{
	kept:       "kept",
	thinnedOut: "thinned",
	off:        "off",
	tail:       "tail",
	exempt:     "exempt",
	unweighted: "unweighted",
	other:      "other",
}

var contradictionNames = [contradictionCount]string{
	stateUnreadable:   "unreadable",
	thresholdAboveR:   "itself",
	probabilityDiffer: "probability",
}

// Labels of tiers. They come from a file that may change, so how many there can
// be since the start is bounded.
const (
	noTier = iota
	overflowTier
	firstTier
	maxTiers   = 64
	labelCount = firstTier + maxTiers
)

// tally counts in plain memory what happens to one batch; it is recorded once,
// because one update of a metric costs about as much as a span does here.
type tally struct {
	spans          [labelCount][outcomeCount]int64
	contradictions [contradictionCount]int64
	uncached       int64
}

// telemetry turns tallies into metrics, by attribute sets that are made once.
type telemetry struct {
	builder        *metadata.TelemetryBuilder
	contradictions [contradictionCount][]metric.AddOption
	reloads        map[bool][]metric.AddOption

	mu    sync.RWMutex
	tiers map[string]int
	spans [labelCount][outcomeCount][]metric.AddOption
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	t := &telemetry{
		builder: builder,
		tiers:   map[string]int{"": noTier},
		reloads: map[bool][]metric.AddOption{
			true:  addOption(attribute.String("result", "applied")),
			false: addOption(attribute.String("result", "refused")),
		},
	}
	for i, name := range contradictionNames {
		t.contradictions[i] = addOption(attribute.String("contradiction", name))
	}
	t.prepare(noTier, "(none)")
	t.prepare(overflowTier, "(overflow)")
	return t, nil
}

func addOption(attributes ...attribute.KeyValue) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}
}

func (t *telemetry) prepare(label int, name string) {
	for i, outcome := range outcomeNames {
		t.spans[label][i] = addOption(attribute.String("tier", name), attribute.String("outcome", outcome))
	}
}

// label is the place of a tier in a tally, the same for ever.
func (t *telemetry) label(tier string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if label, ok := t.tiers[tier]; ok {
		return label
	}
	label := firstTier + len(t.tiers) - 1 // the empty name is none of them
	if label >= labelCount {
		return overflowTier
	}
	t.tiers[tier] = label
	t.prepare(label, tier)
	return label
}

func (t *telemetry) record(ctx context.Context, counted *tally) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for i := range counted.spans {
		for j, n := range counted.spans[i] {
			if n > 0 {
				t.builder.ProcessorAdaptiveSamplerSpans.Add(ctx, n, t.spans[i][j]...)
			}
		}
	}
	for i, n := range counted.contradictions {
		if n > 0 {
			t.builder.ProcessorAdaptiveSamplerContradictions.Add(ctx, n, t.contradictions[i]...)
		}
	}
	if counted.uncached > 0 {
		t.builder.ProcessorAdaptiveSamplerCacheMisses.Add(ctx, counted.uncached)
	}
}

func (t *telemetry) reloaded(applied bool) {
	t.builder.ProcessorAdaptiveSamplerReloads.Add(context.Background(), 1, t.reloads[applied]...)
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }
