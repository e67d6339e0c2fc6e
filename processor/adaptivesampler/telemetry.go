package adaptivesampler

import (
	"context"
	"math"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/metadata"
)

// spanOutcome is the result of processing a span.
type spanOutcome uint8

const (
	kept       spanOutcome = iota
	thinnedOut             // dropped by the rate
	limited                // dropped because a limit of the interval had cut the rate
	off                    // the method is off
	tail                   // tail sample, always kept
	exempt                 // counts, aggregates and process reports
	unweighted             // a measurement without a probability, for which nothing can be decided
	other                  // not a method span
	reported               // in shadow: it passes, and the outcome without shadow is counted
	outcomeCount
)

var outcomeNames = [outcomeCount]string{
	kept:       "kept",
	thinnedOut: "thinned",
	limited:    "limited",
	off:        "off",
	tail:       "tail",
	exempt:     "exempt",
	unweighted: "unweighted",
	other:      "other",
	reported:   "reported",
}

var contradictionNames = [contradictionCount]string{
	stateUnreadable:   "unreadable",
	thresholdAboveR:   "itself",
	probabilityDiffer: "probability",
}

// Labels of tiers. Tiers come from a file that can change, so the number of labels since the start is bounded.
const (
	noTier = iota
	overflowTier
	firstTier
	maxTiers   = 64
	labelCount = firstTier + maxTiers
)

// batchCounts counts the outcomes of one batch in plain memory. They are recorded once per batch, because one
// update of a metric costs about as much as processing a span.
type batchCounts struct {
	spans          [labelCount][outcomeCount]int64
	shadow         [labelCount]shadowCounts
	contradictions [contradictionCount]int64
	overflow       int64
}

// shadowCounts holds expected numbers of records.
type shadowCounts struct{ kept, dropped float64 }

// telemetry records the counts of batches as metrics. Attribute sets are created once.
type telemetry struct {
	builder        *metadata.TelemetryBuilder
	contradictions [contradictionCount][]metric.AddOption

	mu       sync.RWMutex
	tiers    map[string]int
	names    [labelCount]string
	spans    [labelCount][outcomeCount][]metric.AddOption
	outcomes [labelCount][2][]metric.AddOption // kept, dropped

	steps stepTelemetry
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	t := &telemetry{
		builder: builder,
		tiers:   map[string]int{"": noTier},
		steps: stepTelemetry{
			methods: make(map[[2]string]int64), reasons: make(map[[2]string]int64),
			namedReasons: make(map[string]bool), costs: make(map[int]bool),
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
	t.names[label] = name
	for i, fate := range []string{"kept", "dropped"} {
		t.outcomes[label][i] = addOption(attribute.String("tier", name), attribute.String("fate", fate))
	}
	for i, outcome := range outcomeNames {
		t.spans[label][i] = addOption(attribute.String("tier", name), attribute.String("outcome", outcome))
	}
}

// label returns the index of a tier in batchCounts. The index of a tier never changes.
func (t *telemetry) label(tier string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if label, ok := t.tiers[tier]; ok {
		return label
	}
	label := firstTier + len(t.tiers) - 1 // the empty name in t.tiers uses no label
	if label >= labelCount {
		return overflowTier
	}
	t.tiers[tier] = label
	t.prepare(label, tier)
	return label
}

func (t *telemetry) record(ctx context.Context, counted *batchCounts) {
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
	for i := range counted.shadow {
		if would := counted.shadow[i]; would != (shadowCounts{}) {
			for j, n := range []float64{would.kept, would.dropped} {
				t.builder.ProcessorAdaptiveSamplerShadowRecords.Add(ctx, n, t.outcomes[i][j]...)
				t.builder.ProcessorAdaptiveSamplerShadowBytes.Add(ctx, int64(math.Round(n*rowBytes)), t.outcomes[i][j]...)
			}
		}
	}
	if counted.overflow > 0 {
		t.builder.ProcessorAdaptiveSamplerOverflowSpans.Add(ctx, counted.overflow)
	}
}

func (t *telemetry) reloaded(applied bool) {
	result := "refused"
	if applied {
		result = "applied"
	}
	t.builder.ProcessorAdaptiveSamplerReloads.Add(context.Background(), 1, metric.WithAttributes(attribute.String("result", result)))
}

func (t *telemetry) saved(ok bool) {
	result := "failed"
	if ok {
		result = "saved"
	}
	t.builder.ProcessorAdaptiveSamplerStateWrites.Add(context.Background(), 1, metric.WithAttributes(attribute.String("result", result)))
}

func (t *telemetry) served(changes int) {
	t.builder.ProcessorAdaptiveSamplerServedChanges.Add(context.Background(), int64(changes))
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }
