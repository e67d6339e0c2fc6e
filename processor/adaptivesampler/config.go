package adaptivesampler

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// strategyFile is the strategy that uses the rates of the method file unchanged.
const strategyFile = "file"

var strategies = []string{strategyFile, decide.StrategyTiers, decide.StrategyBudget}

// Deciding holds the options of strategies. It is a separate type so that its rules are checked only if a
// strategy is selected.
type Deciding decide.Config

// Config is the configuration of the processor.
type Config struct {
	// MethodsFile is the path of the method file (JSON), which is read again when it changes. Without a file
	// every method has the default rate.
	MethodsFile string `mapstructure:"methods_file"`

	// DefaultRate is the rate of methods without a rate in the method file, if the strategy is file; 1e-9 to 1.
	DefaultRate float64 `mapstructure:"default_rate"`

	// Strict turns faulty entries of the method file into errors at start. Otherwise they are logged and skipped.
	Strict bool `mapstructure:"strict"`

	Deciding `mapstructure:",squash"`

	// Rates is the id of the extension that serves rates to SDKs.
	Rates *component.ID `mapstructure:"rates"`

	// Shadow is true, or a list of tiers: the sampler reports its decisions for them and drops nothing.
	Shadow any `mapstructure:"shadow"`

	// PriceBook is the path of the price book of cost_attribution. Shadow metrics and the scorecard need it to
	// show dollars, because cost_attribution stamps prices only after the sampler.
	PriceBook string `mapstructure:"price_book"`

	// Limit bounds the records kept per interval.
	Limit LimitConfig `mapstructure:"limit"`

	State StateConfig `mapstructure:"state"`

	warnings []configfile.Warning // from the last validation

	_ struct{}
}

// StateConfig configures the state that survives a restart.
type StateConfig struct {
	// File is the path of the state file. Without it no state is kept.
	File string `mapstructure:"file"`

	// Interval is the time between two writes. The state is also written at shutdown.
	Interval time.Duration `mapstructure:"interval"`
	_        struct{}
}

const defaultSaveInterval = 5 * time.Minute

func createDefaultConfig() component.Config {
	c := &Config{DefaultRate: 1, Deciding: Deciding(decide.DefaultConfig()), State: StateConfig{Interval: defaultSaveInterval}}
	c.Strategy = strategyFile
	return c
}

// Validate reports all errors at once, including those of the method file.
func (c *Config) Validate() error {
	var errs []error
	if !(c.DefaultRate >= methodfile.MinRate && c.DefaultRate <= 1) {
		errs = append(errs, fmt.Errorf("`default_rate` must be between %v and 1, found %v", methodfile.MinRate, c.DefaultRate))
	}
	var file *methodfile.File
	switch {
	case c.MethodsFile != "":
		source := configfile.Source[*methodfile.File]{Key: "methods_file", Path: c.MethodsFile, Strict: c.Strict, Parse: methodfile.Parse}
		var err error
		file, c.warnings, err = source.Load()
		if err != nil {
			errs = append(errs, err)
		}
	case c.Strict:
		errs = append(errs, errors.New("`strict` has an effect only with `methods_file`, found it alone: remove it"))
	}
	if c.PriceBook != "" {
		if _, _, err := c.prices().Load(); err != nil { // cost_attribution prints its warnings
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, c.validateStrategy(), c.validateLimit(), c.validateShadow(file), c.State.validate())...)
}

func (c *Config) prices() configfile.Source[*pricebook.Book] {
	return configfile.Source[*pricebook.Book]{Key: "price_book", Path: c.PriceBook, Parse: pricebook.Parse}
}

func (c *Config) validateStrategy() error {
	all := decide.Config(c.Deciding)
	switch {
	case !slices.Contains(strategies, c.Strategy):
		return fmt.Errorf("`strategy` must be one of %q, found %s: %s", strategies, configfile.Quote(c.Strategy), configfile.DidYouMean(c.Strategy, strategies))
	case c.Strategy != strategyFile:
		if c.DefaultRate != 1 {
			return errors.Join(fmt.Errorf("`default_rate` has an effect only with `strategy: file`, found %v with `strategy: %s`: the rate of methods never seen is `cold_start::rate`", c.DefaultRate, c.Strategy), all.Validate())
		}
		return all.Validate()
	}
	plain := decide.DefaultConfig()
	plain.Interval, plain.MaxMethods = all.Interval, all.MaxMethods // these belong to the processor, too
	checked := plain
	plain.Strategy = strategyFile
	if all != plain {
		return fmt.Errorf("%s have an effect only with `strategy: tiers` or `strategy: budget`, found them with `strategy: file`: set a strategy or remove them", changedOf(all, plain))
	}
	return checked.Validate()
}

// changedOf names the options of strategies that are set. At least one must be.
func changedOf(c, plain decide.Config) string {
	var names []string
	set, unset := reflect.ValueOf(c), reflect.ValueOf(plain)
	for i := range set.NumField() {
		if !set.Field(i).Equal(unset.Field(i)) {
			names = append(names, "`"+set.Type().Field(i).Tag.Get("mapstructure")+"`")
		}
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// validateShadow checks that the tiers in shadow exist. Valid names are the tiers of the method file and, with
// a strategy that learns tiers, its classes.
func (c *Config) validateShadow(file *methodfile.File) error {
	shadow, err := shadowOf(c.Shadow)
	if err != nil {
		return err
	}
	known := c.tiers(file)
	var errs []error
	for i, tier := range shadow.tiers {
		if !slices.Contains(known, tier) {
			hint := configfile.DidYouMean(tier, known)
			if len(known) == 0 {
				hint = "there are no tiers without a method file that names them, or a strategy: to put everything in shadow write `shadow: true`"
			}
			errs = append(errs, fmt.Errorf("`shadow[%d]` must be a tier, found %s: %s", i, configfile.Quote(tier), hint))
		}
	}
	return errors.Join(errs...)
}

func (c *Config) tiers(file *methodfile.File) []string {
	var known []string
	if file != nil {
		known = append(known, file.Tiers...)
	}
	if c.Strategy != strategyFile {
		known = append(known, "entry", "mid", "inner")
	}
	return known
}

func (c *StateConfig) validate() error {
	switch {
	case c.File == "" && c.Interval != defaultSaveInterval:
		return errors.New("`state::interval` has an effect only with `state::file`, found it alone: remove it")
	case c.File == "":
		return nil
	case c.Interval < time.Second:
		return fmt.Errorf("`state::interval` must be at least 1s, found %v", c.Interval)
	case filepath.Base(c.File) == "." || filepath.Base(c.File) == "/":
		return fmt.Errorf("`state::file` must be the path of a file, found %s", configfile.Quote(c.File))
	}
	return nil
}
