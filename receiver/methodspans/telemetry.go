package methodspans

import (
	"context"
	"math"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/corehour/corehour/receiver/methodspans/internal/admission"
	"github.com/corehour/corehour/receiver/methodspans/internal/metadata"
)

// telemetry records the counts of requests as metrics. Attribute sets are made once: making
// them is most of the cost of an update.
type telemetry struct {
	builder  *metadata.TelemetryBuilder
	received [kindCount][]metric.AddOption
	faults   [reasonCount][outcomeCount][]metric.AddOption
	overflow [tableCount][]metric.AddOption
	bases    [basisCount][]metric.AddOption
	refusals [admission.Reasons][]metric.AddOption
}

func newTelemetry(set component.TelemetrySettings, n *normalizer, batches *batches) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	t := &telemetry{builder: builder}
	for i, name := range kindNames {
		t.received[i] = addOption(attribute.String("kind", name))
	}
	for i, reason := range reasonNames {
		for j, outcome := range outcomeNames {
			t.faults[i][j] = addOption(attribute.String("reason", reason), attribute.String("outcome", outcome))
		}
	}
	for i, name := range tableNames {
		t.overflow[i] = addOption(attribute.String("table", name))
	}
	for i, name := range basisNames {
		t.bases[i] = addOption(attribute.String("basis", name))
	}
	for i, name := range admission.Names {
		t.refusals[i] = addOption(attribute.String("reason", name))
	}
	return t, builder.RegisterReceiverMethodSpansTableSizeCallback(func(_ context.Context, o metric.Int64Observer) error {
		var sizes [tableCount]int64
		n.names.sizes(&sizes)
		sizes[tableTraces] = n.traces.size()
		batches.sizes(&sizes)
		for i, name := range tableNames {
			o.Observe(sizes[i], metric.WithAttributeSet(attribute.NewSet(attribute.String("table", name))))
		}
		return nil
	})
}

func addOption(attributes ...attribute.KeyValue) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}
}

func (t *telemetry) record(ctx context.Context, tally *requestCounts) {
	for i, n := range tally.received {
		if n > 0 {
			t.builder.ReceiverMethodSpansReceived.Add(ctx, n, t.received[i]...)
		}
	}
	for i := range tally.faults {
		for j, n := range tally.faults[i] {
			if n > 0 {
				t.builder.ReceiverMethodSpansFaults.Add(ctx, n, t.faults[i][j]...)
			}
		}
	}
	for i, n := range tally.overflow {
		if n > 0 {
			t.builder.ReceiverMethodSpansOverflow.Add(ctx, n, t.overflow[i]...)
		}
	}
	for i, n := range tally.bases {
		if n > 0 {
			t.builder.ReceiverMethodSpansBases.Add(ctx, n, t.bases[i]...)
		}
	}
	if tally.duplicates > 0 {
		t.builder.ReceiverMethodSpansDuplicates.Add(ctx, tally.duplicates)
	}
	if tally.lostCalls > 0 {
		t.builder.ReceiverMethodSpansLostCalls.Add(ctx, min(tally.lostCalls, math.MaxInt64/2)) // the counter adds in float64
	}
}

// evicted counts processes whose batches were evicted.
func (t *telemetry) evicted(ctx context.Context, n int64) {
	if n > 0 {
		t.builder.ReceiverMethodSpansOverflow.Add(ctx, n, t.overflow[tableInstances]...)
	}
}

// refused counts a request that was refused before decoding.
func (t *telemetry) refused(ctx context.Context, reason admission.Reason) {
	t.builder.ReceiverMethodSpansRefused.Add(ctx, 1, t.refusals[reason]...)
}

func (t *telemetry) watch(gate *admission.Gate) error {
	return t.builder.RegisterReceiverMethodSpansDecodingCallback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(gate.Reserved())
		return nil
	})
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }
