package samplingrates

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"

	"github.com/corehour/corehour/internal/rates"
)

var (
	_ rates.Publisher = (*server)(nil)
	_ rates.Server    = (*server)(nil)
)

// maxHeaders is in bytes, the query among them.
const maxHeaders = 64 << 10

// server is the extension.
type server struct {
	publication

	config    *Config
	set       component.TelemetrySettings
	telemetry *telemetry
	waiting   waiting
	answers   *answers
	served    *servedHistory
	now       func() time.Time

	stop     sync.Once
	stopping chan struct{} // closed: waiting clients are answered
	ended    chan struct{} // closed when the HTTP server has stopped; nil = it never started
	http     *http.Server
	address  net.Addr
	grpc     grpcServer
}

func newServer(config *Config, set component.TelemetrySettings) (*server, error) {
	s := &server{
		config:   config,
		set:      set,
		waiting:  waiting{most: int64(config.Limits.MaxWaiting)},
		answers:  newAnswers(config.Limits.MaxAnswersMiB << 20),
		served:   newServed(config.Limits.MaxServices, config.Limits.RememberedTables),
		now:      time.Now,
		stopping: make(chan struct{}),
	}
	var err error
	s.telemetry, err = newTelemetry(set, s.sizes)
	return s, err
}

// sizes returns the sizes of the bounded tables.
func (s *server) sizes() (sizes [tableCount]int64) {
	sizes[tableWaiting] = s.waiting.now.Load()
	sizes[tableAnswers] = s.answers.size()
	sizes[tableServices], sizes[tableTables] = s.served.sizes()
	return sizes
}

// Start begins to serve. A source may be published later; until then there are
// no rates.
func (s *server) Start(ctx context.Context, host component.Host) error {
	listener, err := s.config.HTTP.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("`endpoint` %q: %w", s.config.HTTP.NetAddr.Endpoint, err)
	}
	s.http, err = s.config.HTTP.ToServer(ctx, host.GetExtensions(), s.set, s.handler())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.http.MaxHeaderBytes = maxHeaders
	if err := s.startGRPC(ctx, host); err != nil {
		return errors.Join(err, listener.Close())
	}
	s.address = listener.Addr()
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	}()
	s.set.Logger.Info("Serving sampling rates", zap.Stringer("endpoint", s.address))
	return nil
}

// Shutdown answers waiting clients, and waits for the answers to be written as long as
// the context allows.
func (s *server) Shutdown(ctx context.Context) error {
	var err error
	s.stop.Do(func() {
		close(s.stopping)
		if s.ended != nil {
			if err = s.http.Shutdown(ctx); err != nil {
				err = errors.Join(err, s.http.Close())
			}
			<-s.ended
		}
		s.grpc.shutdown(ctx)
		s.telemetry.shutdown()
	})
	return err
}
