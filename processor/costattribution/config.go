package costattribution

import (
	"errors"

	"go.opentelemetry.io/collector/component"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/pricebook"
)

// Config is the configuration of the processor. Without prices every process is
// unpriced.
type Config struct {
	// PriceBook is the path of a YAML file with prices. It is read again when
	// it changes.
	PriceBook string `mapstructure:"price_book"`

	// Prices are the same, written in place.
	Prices *Prices `mapstructure:"prices"`

	// Previews stamps on measured calls the CPU time and dollars that they represent.
	Previews bool `mapstructure:"previews"`

	// Strict turns invalid entries of the price book into errors.
	Strict bool `mapstructure:"strict"`

	warnings []configfile.Warning // of the last validation

	_ struct{}
}

func createDefaultConfig() component.Config { return &Config{Previews: true} }

// Validate reports all faults at once, including those of the price book; Prices reports its own, with
// their paths.
func (c *Config) Validate() error {
	var errs []error
	if c.PriceBook != "" && c.Prices != nil {
		errs = append(errs, errors.New("`price_book` and `prices` must not be combined, found both: keep one"))
	}
	switch {
	case c.PriceBook != "":
		_, warnings, err := c.source().Load()
		c.warnings = warnings
		if err != nil {
			errs = append(errs, err)
		}
	case c.Strict:
		errs = append(errs, errors.New("`strict` has an effect only with `price_book`, found it without: remove it"))
	}
	return errors.Join(errs...)
}

func (c *Config) source() configfile.Source[*pricebook.Book] {
	return configfile.Source[*pricebook.Book]{Key: "price_book", Path: c.PriceBook, Strict: c.Strict, Parse: pricebook.Parse}
}
