package main

import (
	"io"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/processor/costattribution"
	"github.com/corehour/corehour/regression/query"
)

// loadPrices reads the price book that replaces stored prices.
func (c *costFlags) loadPrices(stderr io.Writer) error {
	if c.prices == "" {
		return nil
	}
	lookup, warnings, err := configfile.Source[costattribution.Lookup]{Key: "--prices", Path: c.prices, Parse: costattribution.ParseLookup}.Load()
	if err != nil {
		return err
	}
	c.delivery.warn(stderr, "cost", warnings)
	c.options.Price = func(p query.Place) float64 { return lookup(p.CloudProvider, p.Region, p.HostType, p.CapacityType) }
	return nil
}
