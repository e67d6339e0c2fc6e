package methodspans

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"

	"github.com/corehour/corehour/internal/clientca"
	"github.com/corehour/corehour/internal/methodspan"
)

// ForeignMode selects the spans of other SDKs that are method spans.
type ForeignMode string

const (
	ForeignAll   ForeignMode = "all"   // all of them
	ForeignCode  ForeignMode = "code"  // spans with a function name
	ForeignRules ForeignMode = "rules" // spans whose method matches a rule
	ForeignNone  ForeignMode = "none"  // only spans of the corehour SDK
)

var foreignModes = []ForeignMode{ForeignAll, ForeignCode, ForeignRules, ForeignNone}

// Config is the configuration of the receiver.
type Config struct {
	// Protocols are those of the stock OTLP receiver: grpc at localhost:4317, http at localhost:4318. A protocol
	// that is not named does not listen.
	Protocols otlpreceiver.Protocols `mapstructure:"protocols"`

	// Foreign selects the spans of other SDKs that are method spans: all, code (those with a function name),
	// rules or none. The others pass unchanged.
	Foreign ForeignMode `mapstructure:"foreign"`

	// ForeignRules are the rules of `foreign: rules`.
	ForeignRules []ForeignRule `mapstructure:"foreign_rules"`

	// AssumedRate is the sampling probability of foreign spans without one in their trace
	// state: the ratio samplers of most SDKs write none.
	AssumedRate float64 `mapstructure:"assumed_rate"`

	// AssumedRates overrides AssumedRate by service.name.
	AssumedRates map[string]float64 `mapstructure:"assumed_rates"`

	// ServedRates names the extension that serves rates to stock SDKs. A served rate takes
	// precedence over an assumed one.
	ServedRates *component.ID `mapstructure:"served_rates"`

	// TrustPrices keeps prices set by senders. Use it if the senders are collectors that set
	// prices and only trusted senders can reach this one.
	TrustPrices bool `mapstructure:"trust_prices"`

	// ClockTolerance is the accepted difference between clocks.
	ClockTolerance ClockTolerance `mapstructure:"clock_tolerance"`

	Limits Limits `mapstructure:"limits"`

	_ struct{}
}

// ForeignRule names methods by service and by a pattern.
type ForeignRule struct {
	// Service is a service.name, or a prefix followed by `*`; empty matches every service.
	Service string `mapstructure:"service"`

	// Match is a method in its normal form, `shop/cart.Cart.Total`, a prefix followed by `*`,
	// or `(frameworks)`: all spans of OpenTelemetry's instrumentation libraries without a
	// function name.
	Match string `mapstructure:"match"`

	// Exclude drops matching methods and overrides all other rules. If all rules of a service
	// exclude, methods that match none are included.
	Exclude bool `mapstructure:"exclude"`

	_ struct{}
}

// ClockTolerance is needed because clocks tick differently and are read one after the other.
type ClockTolerance struct {
	// Future is the accepted lead of a sender's clock over the collector's, and the accepted time of spans before
	// the start of their process.
	Future time.Duration `mapstructure:"future"`

	// Absolute and Relative bound CPU time: it is accepted up to wall time x (1 + relative) + absolute.
	Absolute time.Duration `mapstructure:"absolute"`
	Relative float64       `mapstructure:"relative"`

	_ struct{}
}

// Limits bound the memory of the collector and the names in the table.
type Limits struct {
	// MaxNameLength is the maximum length of method names, callers and signatures, in bytes; at
	// least 32.
	MaxNameLength int `mapstructure:"max_name_length"`

	// MaxServices is the maximum number of services with their own table of names.
	MaxServices int `mapstructure:"max_services"`

	// MaxMethods is the maximum number of distinct methods of a service, and of distinct
	// callers.
	MaxMethods int `mapstructure:"max_methods"`

	// MaxInstances is the maximum number of processes whose batches are remembered.
	MaxInstances int `mapstructure:"max_instances"`

	// RememberedBatches is the number of batch numbers remembered per process.
	RememberedBatches int `mapstructure:"remembered_batches"`

	// DecodingMiB is the memory for all requests that are being read and decoded. One sender,
	// and so one request, can use half of it.
	DecodingMiB int `mapstructure:"decoding_mib"`

	// GRPCRequests is the maximum number of gRPC requests that are read at once.
	GRPCRequests int `mapstructure:"grpc_requests"`

	_ struct{}
}

// readTimeout is the maximum time for reading an HTTP request.
const readTimeout = time.Minute

// leastNameLength leaves room for part of a shortened text next to its hash.
const leastNameLength = 32

func createDefaultConfig() component.Config {
	stock := otlpreceiver.NewFactory().CreateDefaultConfig().(*otlpreceiver.Config)
	// The stock receiver has no read timeout.
	http := *stock.Protocols.HTTP.GetOrInsertDefault()
	http.ServerConfig.ReadTimeout = readTimeout
	stock.Protocols.HTTP = configoptional.Default(http)
	return &Config{
		Protocols:   stock.Protocols,
		Foreign:     ForeignAll,
		AssumedRate: 1,
		ClockTolerance: ClockTolerance{
			Future:   5 * time.Minute,
			Absolute: time.Millisecond,
			Relative: 0.01,
		},
		Limits: Limits{
			MaxNameLength:     512,
			MaxServices:       1000,
			MaxMethods:        10_000,
			MaxInstances:      10_000,
			RememberedBatches: 1024,
			DecodingMiB:       256,
			GRPCRequests:      100,
		},
	}
}

// Validate returns all faults. Faults of a section are checked by its own Validate, which confmap
// calls and whose path it adds.
func (c *Config) Validate() error {
	var errs []error
	if !c.Protocols.GRPC.HasValue() && !c.Protocols.HTTP.HasValue() {
		errs = append(errs, errors.New("`protocols` must have at least one of `grpc` and `http`, found none: "+
			"`grpc:` with nothing under it listens on localhost:4317, `http:` on localhost:4318"))
	}
	if c.Protocols.GRPC.HasValue() {
		if err := clientca.Check(c.Protocols.GRPC.Get().TLS); err != nil {
			errs = append(errs, fmt.Errorf("protocols::grpc: %w", err))
		}
	}
	if c.Protocols.HTTP.HasValue() {
		if err := clientca.Check(c.Protocols.HTTP.Get().ServerConfig.TLS); err != nil {
			errs = append(errs, fmt.Errorf("protocols::http: %w", err))
		}
	}
	errs = append(errs, c.validateOtherSignals()...)
	errs = append(errs, c.validateForeign()...)
	return errors.Join(errs...)
}

// validateOtherSignals refuses options of the stock receiver that have no
// effect here.
func (c *Config) validateOtherSignals() []error {
	if !c.Protocols.HTTP.HasValue() {
		return nil
	}
	var errs []error
	http := c.Protocols.HTTP.Get()
	refuse := func(key, found, stock string) {
		if found != stock {
			errs = append(errs, fmt.Errorf("`protocols::http::%s` has no effect, found %q: this receiver takes traces only, "+
				"add an `otlp` receiver for other signals", key, found))
		}
	}
	refuse("metrics_url_path", string(http.MetricsURLPath), "/v1/metrics")
	refuse("logs_url_path", string(http.LogsURLPath), "/v1/logs")
	return errs
}

func (c *Config) validateForeign() []error {
	var errs []error
	if !slices.Contains(foreignModes, c.Foreign) {
		errs = append(errs, fmt.Errorf("`foreign` must be one of %q, found %q", foreignModes, string(c.Foreign)))
	}
	switch {
	case c.Foreign == ForeignRules && len(c.ForeignRules) == 0:
		errs = append(errs, errors.New("`foreign_rules` must hold at least one rule when `foreign` is `rules`, found none"))
	case c.Foreign != ForeignRules && len(c.ForeignRules) > 0:
		errs = append(errs, fmt.Errorf("`foreign_rules` has an effect only when `foreign` is `rules`, found %d rules and `foreign: %s`",
			len(c.ForeignRules), c.Foreign))
	}
	if !methodspan.ValidProbability(c.AssumedRate) {
		errs = append(errs, fmt.Errorf("`assumed_rate` must be above 0 and at most 1, found %v", c.AssumedRate))
	}
	for _, service := range slices.Sorted(maps.Keys(c.AssumedRates)) {
		if rate := c.AssumedRates[service]; !methodspan.ValidProbability(rate) {
			errs = append(errs, fmt.Errorf("`assumed_rates::%s` must be above 0 and at most 1, found %v", service, rate))
		}
	}
	if c.Foreign == ForeignNone && (c.AssumedRate != 1 || len(c.AssumedRates) > 0) {
		errs = append(errs, errors.New("`assumed_rate` and `assumed_rates` have no effect when `foreign` is `none`: remove them"))
	}
	if c.Foreign == ForeignNone && c.ServedRates != nil {
		errs = append(errs, fmt.Errorf("`served_rates` has no effect when `foreign` is `none`, found %q: remove it", c.ServedRates))
	}
	return errs
}

// Validate returns all faults of a rule.
func (r ForeignRule) Validate() error {
	return errors.Join(
		validatePattern("service", r.Service, true),
		validatePattern("match", r.Match, false),
	)
}

// Validate returns all faults of the tolerance.
func (t ClockTolerance) Validate() error {
	var errs []error
	if t.Future < time.Second || t.Future > 24*time.Hour {
		errs = append(errs, fmt.Errorf("`future` must be between 1s and 24h, found %v", t.Future))
	}
	if t.Absolute < 0 || t.Absolute > time.Minute {
		errs = append(errs, fmt.Errorf("`absolute` must be between 0s and 1m, found %v", t.Absolute))
	}
	if !(t.Relative >= 0 && t.Relative <= 1) {
		errs = append(errs, fmt.Errorf("`relative` must be between 0 and 1, found %v", t.Relative))
	}
	return errors.Join(errs...)
}

// Validate returns all faults of the limits. The maxima keep the memory of a full table
// modest.
func (l Limits) Validate() error {
	var errs []error
	check := func(key string, found, low, high int) {
		if found < low || found > high {
			errs = append(errs, fmt.Errorf("`%s` must be between %d and %d, found %d", key, low, high, found))
		}
	}
	check("max_name_length", l.MaxNameLength, leastNameLength, 65_536)
	check("max_services", l.MaxServices, 1, 100_000)
	check("max_methods", l.MaxMethods, 1, 1_000_000)
	check("max_instances", l.MaxInstances, 1, 1_000_000)
	check("remembered_batches", l.RememberedBatches, 1, 65_536)
	check("decoding_mib", l.DecodingMiB, 8, 65_536)
	check("grpc_requests", l.GRPCRequests, 1, 100_000)
	return errors.Join(errs...)
}
