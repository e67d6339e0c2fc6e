package adaptivesampler

import (
	"context"
	"math/rand/v2"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/metadata"
)

// NewFactory returns the factory of the processor adaptive_sampler.
func NewFactory() processor.Factory {
	return processor.NewFactory(
		metadata.Type,
		createDefaultConfig,
		processor.WithTraces(createTraces, metadata.TracesStability),
	)
}

func createTraces(ctx context.Context, set processor.Settings, cfg component.Config, next consumer.Traces) (processor.Traces, error) {
	c := cfg.(*Config)
	return newTraces(ctx, set, c, next, strategyOf(c), rand.Uint64)
}

// newTraces creates the processor. random provides random bits and must be safe for concurrent use. If strategy
// is nil, the rates of the method file stay in force.
func newTraces(ctx context.Context, set processor.Settings, cfg *Config, next consumer.Traces, strategy decide.Strategy, random func() uint64) (processor.Traces, error) {
	configfile.Announce(os.Stderr, set.Logger, "processors::"+set.ID.String(), cfg.MethodsFile, cfg.warnings)
	cfg.warnings = nil // logged once, even if several pipelines use the processor
	s, err := newSampler(cfg, set.ID, set.TelemetrySettings, strategy, random)
	if err != nil {
		return nil, err
	}
	work, err := processorhelper.NewTraces(ctx, set, cfg, next, s.process,
		processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: true}),
		processorhelper.WithStart(s.start),
		processorhelper.WithShutdown(s.shutdown),
	)
	if err != nil {
		return nil, err
	}
	s.resends.Traces, s.resends.loop = work, s.loop
	return &s.resends, nil
}
