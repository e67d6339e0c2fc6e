package costattribution

import (
	"errors"
	"fmt"

	"github.com/corehour/corehour/internal/pricebook"
)

// Prices is a price book inside the collector's configuration. Its faults stop
// the start, unlike those of a file.
type Prices struct {
	// Currency is a label for people: nothing is converted, and numbers named usd
	// are in this currency.
	Currency string `mapstructure:"currency"`

	// Default is the price of processes that no entry matches; without it they
	// are unpriced.
	Default *DefaultPrice `mapstructure:"default"`

	// Prices are the entries. The matching entry that names most attributes wins.
	Prices []Price `mapstructure:"prices"`

	// ListPrices selects public list prices where no entry matches and there is no default; true if it is not set.
	ListPrices *bool `mapstructure:"list_prices"`

	_ struct{}
}

// DefaultPrice is the price of processes without another one.
type DefaultPrice struct {
	// USDPerCoreHour is the price.
	USDPerCoreHour float64 `mapstructure:"usd_per_core_hour"`

	_ struct{}
}

// Price is the price of processes whose resource has the named attributes.
type Price struct {
	// CloudProvider, Region, HostType and CapacityType are the attributes of a process; an empty one matches all.
	CloudProvider string `mapstructure:"cloud_provider"`
	Region        string `mapstructure:"region"`
	HostType      string `mapstructure:"host_type"`
	CapacityType  string `mapstructure:"capacity_type"`

	// USDPerCoreHour is the price.
	USDPerCoreHour float64 `mapstructure:"usd_per_core_hour"`

	_ struct{}
}

// Validate reports faults that belong to no single entry.
func (p *Prices) Validate() error {
	var errs []error
	if p.Currency != "" {
		if fault := pricebook.CurrencyFault(p.Currency); fault != "" {
			errs = append(errs, fmt.Errorf("`currency` %s, found %q", fault, p.Currency))
		}
	}
	if p.Default == nil && len(p.Prices) == 0 && p.ListPrices == nil {
		errs = append(errs, errors.New("must have `default` or `prices`, found neither"))
	}
	if len(p.Prices) > pricebook.MaxEntries {
		errs = append(errs, fmt.Errorf("`prices` must have at most %d entries, found %d", pricebook.MaxEntries, len(p.Prices)))
	}
	_, repeated := p.book()
	return errors.Join(append(errs, repeated...)...)
}

// Validate checks the default price.
func (p *DefaultPrice) Validate() error {
	if fault := pricebook.PriceFault(p.USDPerCoreHour); fault != "" {
		return fmt.Errorf("`usd_per_core_hour` %s, found %v", fault, p.USDPerCoreHour)
	}
	return nil
}

// Validate reports all faults of an entry.
func (p *Price) Validate() error {
	var errs []error
	if fault := pricebook.PriceFault(p.USDPerCoreHour); fault != "" {
		errs = append(errs, fmt.Errorf("`usd_per_core_hour` %s, found %v", fault, p.USDPerCoreHour))
	}
	if p.place() == (pricebook.Place{}) {
		errs = append(errs, fmt.Errorf("%s, found none: %s", pricebook.MustSelect, pricebook.UseDefault))
	}
	for _, field := range []struct{ name, text string }{
		{"cloud_provider", p.CloudProvider}, {"region", p.Region}, {"host_type", p.HostType}, {"capacity_type", p.CapacityType},
	} {
		if len(field.text) > pricebook.MaxText {
			errs = append(errs, fmt.Errorf("`%s` %s, found %d", field.name, pricebook.TextFault(field.text), len(field.text)))
		}
	}
	return errors.Join(errs...)
}

func (p *Price) place() pricebook.Place {
	return pricebook.Place{HostType: p.HostType, CapacityType: p.CapacityType, Region: p.Region, CloudProvider: p.CloudProvider}
}

// book compiles the prices, with a warning for each repeated entry.
func (p *Prices) book() (*pricebook.Book, []error) {
	fallback := 0.0
	if p.Default != nil {
		fallback = p.Default.USDPerCoreHour
	}
	entries := make([]pricebook.Entry, len(p.Prices))
	for i := range p.Prices {
		entries[i] = pricebook.Entry{Place: p.Prices[i].place(), Index: i, USD: p.Prices[i].USDPerCoreHour}
	}
	b, warnings := pricebook.New(p.Currency, fallback, entries)
	if p.ListPrices != nil && !*p.ListPrices {
		b.WithoutLists()
	}
	errs := make([]error, len(warnings))
	for i, w := range warnings {
		errs[i] = w
	}
	return b, errs
}
