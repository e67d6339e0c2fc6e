package pricebook

import (
	"fmt"
	"math"

	"github.com/corehour/corehour/internal/methodspan"
)

// Bounds of a price book.
const (
	MaxEntries = 10_000
	MaxText    = 256 // bytes of a name
)

// Rules for prices in files and in configurations.
const (
	CurrencyRule = "must be three capital letters, as in USD"
	MustSelect   = "must name at least one of cloud_provider, region, host_type and capacity_type"
	UseDefault   = "the price of all other processes is `default`"
)

// PriceFault returns the rule that a price breaks; empty if it is valid.
func PriceFault(usd float64) string {
	if usd > methodspan.MostUSD && !math.IsInf(usd, 0) {
		return fmt.Sprintf("must be at most %d", methodspan.MostUSD)
	}
	if usd > 0 && !math.IsInf(usd, 0) {
		return ""
	}
	return "must be a finite number above 0"
}

// TextFault returns the rule that a name breaks; empty if it is valid.
func TextFault(s string) string {
	if s == "" || len(s) > MaxText {
		return fmt.Sprintf("must have 1 to %d bytes", MaxText)
	}
	return ""
}

// CurrencyFault returns the rule that a currency breaks; empty if it is valid.
func CurrencyFault(s string) string {
	if len(s) != 3 {
		return CurrencyRule
	}
	for _, c := range s {
		if c < 'A' || c > 'Z' {
			return CurrencyRule
		}
	}
	return ""
}
