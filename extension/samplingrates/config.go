package samplingrates

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"

	"github.com/corehour/corehour/internal/clientca"
)

const (
	// longestWait is the longest time for which a poll is held.
	longestWait = 25 * time.Second

	// writeReserve is the part of the server's timeouts reserved for writing an answer.
	writeReserve = 5 * time.Second

	// defaultGRPC is the address that samplers of Jaeger's protocol expect.
	defaultGRPC = "localhost:14250"
)

// Config is the configuration of the extension: that of an HTTP server, and
// limits.
type Config struct {
	// HTTP is not embedded: its Unmarshal would become that of the whole.
	HTTP confighttp.ServerConfig `mapstructure:",squash"`

	// GRPC serves Jaeger's protocol over gRPC, too. It listens only if it is named.
	GRPC configoptional.Optional[GRPCConfig] `mapstructure:"grpc"`

	Limits Limits `mapstructure:"limits"`

	_ struct{}
}

// GRPCConfig is the address of the gRPC server. It has no security settings of its own: `tls`, `auth` and
// `middlewares` of the HTTP server apply, so it cannot be more open.
type GRPCConfig struct {
	NetAddr confignet.AddrConfig `mapstructure:",squash"`

	_ struct{}
}

// Validate reports a missing address.
func (g GRPCConfig) Validate() error {
	if g.NetAddr.Endpoint == "" {
		return errors.New("`endpoint` must be host:port, found nothing")
	}
	return nil
}

// Limits bound the memory that clients can use.
type Limits struct {
	// MaxWaiting is the maximum number of clients that wait for a change; further ones are answered at
	// once.
	MaxWaiting int `mapstructure:"max_waiting"`

	// MaxAnswersMiB bounds the memory of encoded answers.
	MaxAnswersMiB int `mapstructure:"max_answers_mib"`

	// MaxServices is the number of services whose rates served to stock SDKs are remembered.
	MaxServices int `mapstructure:"max_services"`

	// RememberedTables is the number of tables remembered per service.
	RememberedTables int `mapstructure:"remembered_tables"`

	_ struct{}
}

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	server.NetAddr.Endpoint = "localhost:4319"
	jaeger := GRPCConfig{NetAddr: confignet.NewDefaultAddrConfig()}
	jaeger.NetAddr.Transport = confignet.TransportTypeTCP
	jaeger.NetAddr.Endpoint = defaultGRPC
	return &Config{
		HTTP: server,
		GRPC: configoptional.Default(jaeger),
		Limits: Limits{
			MaxWaiting:       2000,
			MaxAnswersMiB:    64,
			MaxServices:      1000,
			RememberedTables: 64,
		},
	}
}

// Unmarshal refuses unknown keys. The HTTP server's own Unmarshal ignores them.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	type options confighttp.ServerConfig // without its methods
	var strict struct {
		HTTP   options                             `mapstructure:",squash"`
		GRPC   configoptional.Optional[GRPCConfig] `mapstructure:"grpc"`
		Limits Limits                              `mapstructure:"limits"`
	}
	if err := conf.Unmarshal(&strict); err != nil {
		return err
	}
	return conf.Unmarshal(c)
}

// Validate reports all faults at once.
func (c *Config) Validate() error {
	var errs []error
	if c.HTTP.NetAddr.Endpoint == "" {
		errs = append(errs, errors.New("`endpoint` must be host:port, found nothing"))
	}
	for _, timeout := range []struct {
		key   string
		value time.Duration
	}{{"write_timeout", c.HTTP.WriteTimeout}, {"read_timeout", c.HTTP.ReadTimeout}} {
		if timeout.value > 0 && timeout.value <= writeReserve {
			errs = append(errs, fmt.Errorf("`%s` must be above %v, which are kept for writing an answer, or 0s for none, found %v",
				timeout.key, writeReserve, timeout.value))
		}
	}
	errs = append(errs, clientca.Check(c.HTTP.TLS))
	return errors.Join(errs...)
}

// Validate reports all faults of the limits.
func (l Limits) Validate() error {
	var errs []error
	check := func(key string, found, low, high int) {
		if found < low || found > high {
			errs = append(errs, fmt.Errorf("`%s` must be between %d and %d, found %d", key, low, high, found))
		}
	}
	check("max_waiting", l.MaxWaiting, 1, 100_000)
	check("max_answers_mib", l.MaxAnswersMiB, 1, 4096)
	check("max_services", l.MaxServices, 1, 100_000)
	check("remembered_tables", l.RememberedTables, 1, 4096)
	return errors.Join(errs...)
}

// maxWait returns the longest time for which a poll can be held: both timeouts end the request.
func (c *Config) maxWait() time.Duration {
	wait := longestWait
	for _, timeout := range []time.Duration{c.HTTP.WriteTimeout, c.HTTP.ReadTimeout} {
		if timeout > 0 {
			wait = min(wait, timeout-writeReserve)
		}
	}
	return wait
}
