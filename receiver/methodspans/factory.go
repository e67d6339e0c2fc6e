package methodspans

import (
	"context"
	"maps"
	"slices"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/configmiddleware"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"

	"github.com/corehour/corehour/receiver/methodspans/internal/admission"
	"github.com/corehour/corehour/receiver/methodspans/internal/metadata"
)

// NewFactory returns the factory of receivers of type method_spans.
func NewFactory() receiver.Factory {
	return receiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		receiver.WithTraces(createTraces, metadata.TracesStability),
	)
}

// createTraces creates an intake between the stock OTLP receiver and the pipeline.
func createTraces(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
	config := cfg.(*Config)
	in, err := newIntake(config, set.TelemetrySettings, next)
	if err != nil {
		return nil, err
	}
	gate := admission.New(int64(config.Limits.DecodingMiB)<<20, int64(config.Limits.GRPCRequests), in.telemetry.refused)
	if err := in.telemetry.watch(gate); err != nil {
		return nil, err
	}
	id := component.NewIDWithName(metadata.Type, set.ID.String())
	stock := otlpreceiver.NewFactory()
	// The stock receiver shares one server among all receivers with the same config
	// object, so every instance needs its own.
	inner, err := stock.CreateTraces(ctx, stockSettings(set, stock.Type()), &otlpreceiver.Config{Protocols: gated(config.Protocols, id)}, in)
	if err != nil {
		in.shutdown()
		return nil, err
	}
	r := &methodSpansReceiver{Traces: inner, intake: in, servedRates: config.ServedRates, gateID: id, gate: gate}
	if config.Protocols.GRPC.HasValue() {
		r.grpcAuth = config.Protocols.GRPC.Get().Auth
	}
	return r, nil
}

// gated adds the gate as the last middleware of both servers.
func gated(protocols otlpreceiver.Protocols, gate component.ID) otlpreceiver.Protocols {
	last := configmiddleware.Config{ID: gate}
	if protocols.GRPC.HasValue() {
		config := protocols.GRPC.Get()
		config.Middlewares = append(slices.Clip(config.Middlewares), last)
	}
	if protocols.HTTP.HasValue() {
		config := &protocols.HTTP.Get().ServerConfig
		config.Middlewares = append(slices.Clip(config.Middlewares), last)
	}
	return protocols
}

// stockSettings returns set with an id of the stock receiver's type, since a factory refuses
// other types. The id's name identifies this receiver in the stock receiver's metrics.
func stockSettings(set receiver.Settings, stock component.Type) receiver.Settings {
	set.ID = component.NewIDWithName(stock, set.ID.String())
	return set
}

type methodSpansReceiver struct {
	receiver.Traces
	intake      *intake
	servedRates *component.ID
	gateID      component.ID
	gate        *admission.Gate
	grpcAuth    configoptional.Optional[configauth.Config]
}

// gatedHost adds the gate to the extensions of a host, where the stock receiver finds its
// middlewares.
type gatedHost struct {
	component.Host
	id   component.ID
	gate *admission.Gate
}

func (h gatedHost) GetExtensions() map[component.ID]component.Component {
	extensions := map[component.ID]component.Component{h.id: h.gate}
	maps.Copy(extensions, h.Host.GetExtensions())
	return extensions
}

// Report forwards the failure of a server.
func (h gatedHost) Report(event *componentstatus.Event) { componentstatus.ReportStatus(h.Host, event) }

// Start finds the extension and starts the servers.
func (r *methodSpansReceiver) Start(ctx context.Context, host component.Host) (err error) {
	if r.servedRates != nil {
		if r.intake.normalizer.server, err = findServer(host, *r.servedRates); err != nil {
			return err
		}
	}
	if r.grpcAuth.HasValue() {
		server, err := r.grpcAuth.Get().GetServerAuthenticator(ctx, host.GetExtensions())
		if err != nil {
			return err
		}
		r.gate.Authenticate = server.Authenticate
	}
	return r.Traces.Start(ctx, gatedHost{host, r.gateID, r.gate})
}

// Shutdown stops the servers first, then the intake.
func (r *methodSpansReceiver) Shutdown(ctx context.Context) error {
	err := r.Traces.Shutdown(ctx)
	r.intake.shutdown()
	return err
}
