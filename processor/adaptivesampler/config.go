package adaptivesampler

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodfile"
)

// Config is the configuration of the processor.
type Config struct {
	// MethodsFile is the path of the method file; without one every method has
	// the default rate. It is read again when it changes.
	MethodsFile string `mapstructure:"methods_file"`

	// DefaultRate is the rate of methods that the method file gives none.
	DefaultRate float64 `mapstructure:"default_rate"`

	// Strict makes errors of the method file's faulty entries.
	Strict bool `mapstructure:"strict"`

	warnings []configfile.Warning // of the last validation

	_ struct{}
}

func createDefaultConfig() component.Config { return &Config{DefaultRate: 1} }

// Validate reports all faults at once, those of the method file among them.
func (c *Config) Validate() error {
	var errs []error
	if !(c.DefaultRate >= methodfile.MinRate && c.DefaultRate <= 1) {
		errs = append(errs, fmt.Errorf("`default_rate` must be between %v and 1, found %v", methodfile.MinRate, c.DefaultRate))
	}
	switch {
	case c.MethodsFile != "":
		source := configfile.Source[*methodfile.File]{Key: "methods_file", Path: c.MethodsFile, Strict: c.Strict, Parse: methodfile.Parse}
		_, warnings, err := source.Load()
		c.warnings = warnings
		if err != nil {
			errs = append(errs, err)
		}
	case c.Strict:
		errs = append(errs, errors.New("`strict` has an effect only beside `methods_file`, found it alone: remove it"))
	}
	return errors.Join(errs...)
}
