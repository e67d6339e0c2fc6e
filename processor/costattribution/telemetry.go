package costattribution

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/processor/costattribution/internal/metadata"
)

// batchCounts counts the spans of a batch; it is recorded once.
type batchCounts [pricebook.Outcomes]int64

// telemetry records the counts of batches as metrics, by attribute sets that are made once.
type telemetry struct {
	builder *metadata.TelemetryBuilder
	spans   [pricebook.Outcomes][]metric.AddOption
	reloads map[bool][]metric.AddOption
	spend   *spendMeter
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	t := &telemetry{
		builder: builder,
		spend:   newSpendMeter(builder),
		reloads: map[bool][]metric.AddOption{
			true:  addOption("result", "applied"),
			false: addOption("result", "refused"),
		},
	}
	for o := range pricebook.Outcomes {
		key := "reason"
		if o.Priced() {
			key = "source"
		}
		t.spans[o] = addOption(key, o.String())
	}
	return t, nil
}

func addOption(key, value string) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(attribute.String(key, value)))}
}

func (t *telemetry) record(ctx context.Context, counted *batchCounts) {
	for i, n := range counted {
		switch {
		case n == 0:
		case pricebook.Outcome(i).Priced():
			t.builder.ProcessorCostAttributionPriced.Add(ctx, n, t.spans[i]...)
		default:
			t.builder.ProcessorCostAttributionUnpriced.Add(ctx, n, t.spans[i]...)
		}
	}
}

func (t *telemetry) reloaded(applied bool) {
	t.builder.ProcessorCostAttributionReloads.Add(context.Background(), 1, t.reloads[applied]...)
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }
