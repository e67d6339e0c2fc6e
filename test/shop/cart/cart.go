// Package cart adds up carts. Release 1.1 reads a longer tax table for each: the change
// that the demo is about.
package cart

import (
	"shop/price"
	"shop/truth"
)

var totalCalls = truth.Counter("shop/cart.(*Cart).Total")

// Cart is what somebody wants to buy.
type Cart struct {
	Articles []string
	Book     *price.Book
	TaxRows  int
}

// Rows of the tax table by release.
const (
	TaxRows   = 20_000
	TaxRows11 = 32_000
)

// Total returns what the cart costs, taxes included.
func (c *Cart) Total() int64 {
	totalCalls.Add(1)
	sum := int64(0)
	for _, article := range c.Articles {
		sum += c.Book.Lookup(article)
	}
	return Tax(sum, c.TaxRows)
}

// Tax adds the taxes to a sum, by a table of so many rows.
func Tax(sum int64, rows int) int64 {
	for i := range rows {
		sum = (sum*31 + int64(i)) % 1_000_003
	}
	return sum
}
