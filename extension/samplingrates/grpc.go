package samplingrates

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jaegertracing/jaeger-idl/proto-gen/api_v2"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/corehour/corehour/internal/rates"
)

const (
	// maxIdle closes idle connections. Running clients open another one; the Java agent polls every
	// minute.
	maxIdle = 5 * time.Minute

	// maxStreams is the maximum number of calls in flight per connection.
	maxStreams = 100
)

// grpcServer is the gRPC server, if there is one.
type grpcServer struct {
	server  *grpc.Server
	address net.Addr
	ended   chan struct{} // closed when it has stopped
}

// grpcConfig returns the options of the gRPC server, with the security settings of
// the HTTP server.
func (c *Config) grpcConfig() configgrpc.ServerConfig {
	config := configgrpc.NewDefaultServerConfig()
	config.NetAddr = c.GRPC.Get().NetAddr
	config.MaxConcurrentStreams = maxStreams
	config.Keepalive.Get().ServerParameters.GetOrInsertDefault().MaxConnectionIdle = maxIdle
	config.TLS = c.HTTP.TLS
	if c.HTTP.Auth.HasValue() {
		config.Auth = configoptional.Some[configauth.Config](c.HTTP.Auth.Get().Config)
	}
	config.IncludeMetadata = c.HTTP.IncludeMetadata
	config.Middlewares = c.HTTP.Middlewares
	return config
}

// startGRPC begins to serve over gRPC, if the configuration names it.
func (s *server) startGRPC(ctx context.Context, host component.Host) error {
	if !s.config.GRPC.HasValue() {
		return nil
	}
	config := s.config.grpcConfig()
	made, err := config.ToServer(ctx, host.GetExtensions(), s.set,
		configgrpc.WithGrpcServerOption(grpc.MaxRecvMsgSize(maxQuery)),
		configgrpc.WithGrpcServerOption(grpc.MaxHeaderListSize(maxHeaders)),
		configgrpc.WithGrpcServerOption(grpc.StatsHandler(attempts{s.telemetry})),
		configgrpc.WithGrpcServerOption(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
			return status.Error(codes.Unimplemented, "there is nothing here: ask jaeger.api_v2.SamplingManager")
		})))
	if err != nil {
		return fmt.Errorf("`grpc` has the `tls`, `auth` and `middlewares` of the HTTP server: %w", err)
	}
	listener, err := config.NetAddr.Listen(ctx)
	if errors.Is(err, syscall.EADDRINUSE) && config.NetAddr.Endpoint == defaultGRPC {
		// A failure at the default, well-known address is no reason not to start.
		s.set.Logger.Warn("Not serving sampling rates over gRPC: another program, such as another collector or Jaeger, "+
			"listens there; set `grpc::endpoint` of sampling_rates", zap.String("endpoint", defaultGRPC))
		return nil
	}
	if err != nil {
		return fmt.Errorf("`grpc::endpoint` %q: %w", config.NetAddr.Endpoint, err)
	}
	api_v2.RegisterSamplingManagerServer(made, samplingManager{s})
	ended := make(chan struct{})
	s.grpc = grpcServer{made, listener.Addr(), ended}
	go func() {
		defer close(ended)
		if err := made.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	}()
	s.set.Logger.Info("Serving sampling rates over gRPC", zap.Stringer("endpoint", listener.Addr()))
	return nil
}

// shutdown waits for calls in flight as long as the context allows.
func (g *grpcServer) shutdown(ctx context.Context) {
	if g.server == nil {
		return
	}
	unhurried := make(chan struct{})
	go func() { g.server.GracefulStop(); close(unhurried) }()
	select {
	case <-unhurried:
	case <-ctx.Done():
		g.server.Stop()
		<-unhurried
	}
	<-g.ended
}

// samplingManager is Jaeger's service: the answers are those of /sampling.
type samplingManager struct{ *server }

func (m samplingManager) GetSamplingStrategy(ctx context.Context, asked *api_v2.SamplingStrategyParameters) (*api_v2.SamplingStrategyResponse, error) {
	if asked.ServiceName == "" {
		return nil, status.Error(codes.InvalidArgument, "`serviceName` must be given, found nothing")
	}
	if err := checkText("serviceName", asked.ServiceName); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	a := m.sampling(ctx, rates.Target{Service: strings.Clone(asked.ServiceName)})
	switch {
	case a == nil:
		return nil, status.Error(codes.Unavailable, noRates)
	case a.err != nil:
		return nil, status.Errorf(codes.Internal, "the answer cannot be encoded: %v", a.err)
	}
	return a.message, nil
}

// messageWeight is the approximate memory of an operation in a message, without its name, which the strategy
// shares.
const messageWeight = 192 // bytes

// message returns the response as a protobuf message. It is immutable: it is encoded for
// many clients at once.
func (r *strategyResponse) message() *api_v2.SamplingStrategyResponse {
	operations := make([]*api_v2.OperationSamplingStrategy, len(r.Operation.PerOperation))
	for i, o := range r.Operation.PerOperation {
		operations[i] = &api_v2.OperationSamplingStrategy{
			Operation:             o.Operation,
			ProbabilisticSampling: &api_v2.ProbabilisticSamplingStrategy{SamplingRate: o.Probabilistic.SamplingRate},
		}
	}
	return &api_v2.SamplingStrategyResponse{
		StrategyType:          api_v2.SamplingStrategyType_PROBABILISTIC,
		ProbabilisticSampling: &api_v2.ProbabilisticSamplingStrategy{SamplingRate: r.Probabilistic.SamplingRate},
		OperationSampling: &api_v2.PerOperationSamplingStrategies{
			DefaultSamplingProbability:       r.Operation.Default,
			DefaultLowerBoundTracesPerSecond: r.Operation.LowerBound,
			PerOperationStrategies:           operations,
		},
	}
}

// attempts counts calls over gRPC, including those that never reach a handler.
type attempts struct{ telemetry *telemetry }

type attempt struct {
	endpoint endpoint
	bytes    int64
}

type attemptKey struct{}

// TagRPC begins a call.
func (attempts) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	a := &attempt{endpoint: endpointOther}
	if info.FullMethodName == "/jaeger.api_v2.SamplingManager/GetSamplingStrategy" {
		a.endpoint = endpointSampling
	}
	return context.WithValue(ctx, attemptKey{}, a)
}

// HandleRPC counts a call when it ends.
func (c attempts) HandleRPC(ctx context.Context, event stats.RPCStats) {
	a, ok := ctx.Value(attemptKey{}).(*attempt)
	if !ok {
		return
	}
	switch event := event.(type) {
	case *stats.OutPayload:
		a.bytes += int64(event.CompressedLength)
	case *stats.End:
		c.telemetry.request(ctx, a.endpoint, resultOf(event.Error), a.bytes)
	}
}

// TagConn and HandleConn do nothing: connections are not counted.
func (attempts) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (attempts) HandleConn(context.Context, stats.ConnStats)                       {}

// resultOf converts the status of a call to a result of the HTTP server.
func resultOf(err error) requestResult {
	switch status.Code(err) {
	case codes.OK:
		return resultOK
	case codes.InvalidArgument, codes.ResourceExhausted: // too large
		return resultBad
	case codes.Unavailable:
		return resultUnavailable
	case codes.Canceled, codes.DeadlineExceeded:
		return resultGone
	case codes.Internal:
		return resultFailed
	default:
		return resultRefused
	}
}
