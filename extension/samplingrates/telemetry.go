package samplingrates

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/corehour/corehour/extension/samplingrates/internal/metadata"
)

// boundedTable is one of the bounded tables.
type boundedTable uint8

const (
	tableWaiting  boundedTable = iota // clients that wait for a change
	tableAnswers                      // encoded tables
	tableServices                     // whose served tables are remembered
	tableTables                       // remembered, of all services
	tableCount
)

var tableNames = [tableCount]string{"waiting", "answers", "services", "tables"}

// telemetry are the extension's own metrics, by attribute sets that are made
// once.
type telemetry struct {
	builder  *metadata.TelemetryBuilder
	requests [endpointCount][resultCount][]metric.AddOption
	bytes    [endpointCount][]metric.AddOption
	overflow [tableCount][]metric.AddOption
}

func newTelemetry(set component.TelemetrySettings, sizes func() [tableCount]int64) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	t := &telemetry{builder: builder}
	for i, name := range endpointNames {
		t.bytes[i] = addOption(attribute.String("endpoint", name))
		for j, result := range resultNames {
			t.requests[i][j] = addOption(attribute.String("endpoint", name), attribute.String("result", result))
		}
	}
	var observe [tableCount]metric.ObserveOption
	for i, name := range tableNames {
		t.overflow[i] = addOption(attribute.String("table", name))
		observe[i] = metric.WithAttributeSet(attribute.NewSet(attribute.String("table", name)))
	}
	return t, builder.RegisterExtensionSamplingRatesTableSizeCallback(func(_ context.Context, o metric.Int64Observer) error {
		for i, size := range sizes() {
			o.Observe(size, observe[i])
		}
		return nil
	})
}

func addOption(attributes ...attribute.KeyValue) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}
}

func (t *telemetry) request(ctx context.Context, e endpoint, how requestResult, bytes int64) {
	t.builder.ExtensionSamplingRatesRequests.Add(ctx, 1, t.requests[e][how]...)
	if bytes > 0 {
		t.builder.ExtensionSamplingRatesBytes.Add(ctx, bytes, t.bytes[e]...)
	}
}

func (t *telemetry) pushed(ctx context.Context) { t.builder.ExtensionSamplingRatesPushes.Add(ctx, 1) }

func (t *telemetry) overflowed(ctx context.Context, of boundedTable, n int64) {
	if n > 0 {
		t.builder.ExtensionSamplingRatesOverflow.Add(ctx, n, t.overflow[of]...)
	}
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }
