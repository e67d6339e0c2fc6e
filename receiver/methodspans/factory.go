package methodspans

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"

	"github.com/corehour/corehour/receiver/methodspans/internal/metadata"
)

// NewFactory makes receivers of type method_spans.
func NewFactory() receiver.Factory {
	return receiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		receiver.WithTraces(createTraces, metadata.TracesStability),
	)
}

// createTraces puts an intake between the stock OTLP receiver and the pipeline.
func createTraces(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
	config := cfg.(*Config)
	in, err := newIntake(config, set.TelemetrySettings, next)
	if err != nil {
		return nil, err
	}
	stock := otlpreceiver.NewFactory()
	// The stock receiver shares one server among all that are made from one
	// config object, so every instance needs an object of its own.
	inner, err := stock.CreateTraces(ctx, stockSettings(set, stock.Type()), &otlpreceiver.Config{Protocols: config.Protocols}, in)
	if err != nil {
		in.shutdown()
		return nil, err
	}
	return &methodSpansReceiver{Traces: inner, intake: in, servedRates: config.ServedRates}, nil
}

// stockSettings renames the component, since a factory refuses ids of another
// type. The name says whose server it is in the stock receiver's metrics.
func stockSettings(set receiver.Settings, stock component.Type) receiver.Settings {
	set.ID = component.NewIDWithName(stock, set.ID.String())
	return set
}

type methodSpansReceiver struct {
	receiver.Traces
	intake      *intake
	servedRates *component.ID
}

// Start finds the extension before the first request can arrive.
func (r *methodSpansReceiver) Start(ctx context.Context, host component.Host) (err error) {
	if r.servedRates != nil {
		if r.intake.normalizer.server, err = findServer(host, *r.servedRates); err != nil {
			return err
		}
	}
	return r.Traces.Start(ctx, host)
}

// Shutdown stops the servers before what they feed.
func (r *methodSpansReceiver) Shutdown(ctx context.Context) error {
	err := r.Traces.Shutdown(ctx)
	r.intake.shutdown()
	return err
}
