package main

import (
	"io"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/regression/query"
)

// loadPrices reads the price book that replaces stored prices.
func (c *costFlags) loadPrices(stderr io.Writer) error {
	if c.prices == "" {
		return nil
	}
	book, warnings, err := configfile.Source[*pricebook.Book]{Key: "--prices", Path: c.prices, Parse: pricebook.Parse}.Load()
	if err != nil {
		return err
	}
	c.delivery.warn(stderr, "cost", warnings)
	c.options.Price = func(p query.Place) float64 { return book.Lookup(p).USD }
	c.options.Listed = func(p query.Place) bool { return book.Lookup(p).Outcome == pricebook.ByList }
	return nil
}
