package costattribution

import (
	"context"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/processor/costattribution/internal/metadata"
)

// NewFactory makes processors of type cost_attribution.
func NewFactory() processor.Factory {
	return processor.NewFactory(
		metadata.Type,
		createDefaultConfig,
		processor.WithTraces(createTraces, metadata.TracesStability),
	)
}

func createTraces(ctx context.Context, set processor.Settings, cfg component.Config, next consumer.Traces) (processor.Traces, error) {
	config := cfg.(*Config)
	configfile.Announce(os.Stderr, set.Logger, "processors::"+set.ID.String(), config.PriceBook, config.warnings)
	config.warnings = nil // logged once, in however many pipelines
	p, err := newPricer(config, set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return processorhelper.NewTraces(ctx, set, cfg, next, p.process,
		processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: true}),
		processorhelper.WithStart(p.start),
		processorhelper.WithShutdown(p.shutdown),
	)
}
