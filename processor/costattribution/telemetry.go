package costattribution

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/corehour/corehour/processor/costattribution/internal/metadata"
)

// outcome is where a price comes from, or why there is none.
type outcome uint8

const (
	byEntry outcome = iota
	byDefault
	noPrices     // none are configured
	noAttributes // the resource does not say where the process runs, and there is no default
	noEntry      // no entry matches, and there is no default
	outcomeCount
)

var outcomeNames = [outcomeCount]string{
	byEntry:      "entry",
	byDefault:    "default",
	noPrices:     "no_prices",
	noAttributes: "no_attributes",
	noEntry:      "no_entry",
}

// tally counts the spans of a batch; it is recorded once.
type tally [outcomeCount]int64

// telemetry turns tallies into metrics, by attribute sets that are made once.
type telemetry struct {
	builder *metadata.TelemetryBuilder
	spans   [outcomeCount][]metric.AddOption
	reloads map[bool][]metric.AddOption
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	t := &telemetry{
		builder: builder,
		reloads: map[bool][]metric.AddOption{
			true:  addOption("result", "applied"),
			false: addOption("result", "refused"),
		},
	}
	for i, name := range outcomeNames {
		key := "reason"
		if outcome(i) <= byDefault {
			key = "source"
		}
		t.spans[i] = addOption(key, name)
	}
	return t, nil
}

func addOption(key, value string) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(attribute.String(key, value)))}
}

func (t *telemetry) record(ctx context.Context, counted *tally) {
	for i, n := range counted {
		switch {
		case n == 0:
		case outcome(i) <= byDefault:
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
