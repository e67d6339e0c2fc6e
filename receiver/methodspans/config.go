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
	ForeignCode  ForeignMode = "code"  // those that name their function
	ForeignRules ForeignMode = "rules" // those whose method matches a rule
	ForeignNone  ForeignMode = "none"  // none: only the corehour SDK's
)

var foreignModes = []ForeignMode{ForeignAll, ForeignCode, ForeignRules, ForeignNone}

// Config is the configuration of the receiver. protocols is that of the stock
// OTLP receiver, key by key.
type Config struct {
	Protocols otlpreceiver.Protocols `mapstructure:"protocols"`

	// Foreign selects the spans of other SDKs that are method spans; the others pass
	// unchanged.
	Foreign ForeignMode `mapstructure:"foreign"`

	// ForeignRules are the rules of `foreign: rules`.
	ForeignRules []ForeignRule `mapstructure:"foreign_rules"`

	// AssumedRate is the probability that a foreign span was kept with, where
	// its trace state does not say: most SDKs' ratio samplers write none.
	AssumedRate float64 `mapstructure:"assumed_rate"`

	// AssumedRates overrides AssumedRate by service.name.
	AssumedRates map[string]float64 `mapstructure:"assumed_rates"`

	// ServedRates names the extension that serves rates to stock SDKs. The rates it
	// served count before assumed ones.
	ServedRates *component.ID `mapstructure:"served_rates"`

	// TrustPrices stores prices that senders state: collectors that stamp them, and that only
	// trusted senders reach.
	TrustPrices bool `mapstructure:"trust_prices"`

	// ClockTolerance is how far clocks may differ.
	ClockTolerance ClockTolerance `mapstructure:"clock_tolerance"`

	Limits Limits `mapstructure:"limits"`

	_ struct{}
}

// ForeignRule names methods by service and by a pattern.
type ForeignRule struct {
	// Service is a service.name, or a prefix of some that ends in `*`; empty
	// stands for every service.
	Service string `mapstructure:"service"`

	// Match is a method in its normal form, `shop/cart.Cart.Total`, a prefix of
	// some that ends in `*`, or `(frameworks)`: all spans of OpenTelemetry's
	// instrumentation libraries that name no function.
	Match string `mapstructure:"match"`

	// Exclude leaves out what matches, whatever other rules say. Where all rules
	// of a service exclude, what they do not match is included.
	Exclude bool `mapstructure:"exclude"`

	_ struct{}
}

// ClockTolerance is allowed because the two clocks are read one after the
// other and tick differently: CPU time is believed up to
// wall time x (1 + relative) + absolute. Future is how far the clock of a sender may be
// ahead of the collector's, and how long before its start a process may have done something.
type ClockTolerance struct {
	Future   time.Duration `mapstructure:"future"`
	Absolute time.Duration `mapstructure:"absolute"`
	Relative float64       `mapstructure:"relative"`

	_ struct{}
}

// Limits bound what senders can make the collector remember and the table hold.
type Limits struct {
	// MaxNameLength is in bytes, for method names, callers and signatures; 32 or
	// more.
	MaxNameLength int `mapstructure:"max_name_length"`

	// MaxServices is how many services have a table of names of their own.
	MaxServices int `mapstructure:"max_services"`

	// MaxMethods is how many distinct methods a service may have, and how many
	// distinct callers.
	MaxMethods int `mapstructure:"max_methods"`

	// MaxInstances is how many processes have their batches remembered.
	MaxInstances int `mapstructure:"max_instances"`

	// RememberedBatches is how many batch numbers are remembered of a process.
	RememberedBatches int `mapstructure:"remembered_batches"`

	// DecodingMiB is the memory of all requests that are being read and decoded; one sender, and
	// so one request, has half of it.
	DecodingMiB int `mapstructure:"decoding_mib"`

	// GRPCRequests is how many requests over gRPC are read at once.
	GRPCRequests int `mapstructure:"grpc_requests"`

	_ struct{}
}

// readTimeout is how long a request over HTTP may take to arrive.
const readTimeout = time.Minute

// leastNameLength leaves part of a text that is cut, in addition to its hash.
const leastNameLength = 32

func createDefaultConfig() component.Config {
	stock := otlpreceiver.NewFactory().CreateDefaultConfig().(*otlpreceiver.Config)
	// The stock receiver waits for ever for the rest of a request.
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

// Validate reports all faults at once. What belongs to one section is checked
// by that section, which confmap calls too and whose path it adds.
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

// Validate reports all faults of a rule.
func (r ForeignRule) Validate() error {
	return errors.Join(
		validatePattern("service", r.Service, true),
		validatePattern("match", r.Match, false),
	)
}

// Validate reports all faults of the tolerance.
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

// Validate reports all faults of the limits. The upper ends are where the
// memory of a full table would no longer be modest.
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
