// Package cart totals carts. Release 1.1 reads a longer tax table for each cart: this is the change that the demo
// finds.
package cart

import (
	"shop/price"
	"shop/truth"
)

var totalCalls = truth.Counter("shop/cart.(*Cart).Total")

// Cart contains the articles that a customer wants to buy.
type Cart struct {
	Articles []string
	Book     *price.Book
	TaxRows  int
}

// Numbers of rows of the tax table, by release.
const (
	TaxRows   = 20_000
	TaxRows11 = 32_000
)

// Total returns the cost of the cart, including taxes.
func (c *Cart) Total() int64 {
	totalCalls.Add(1)
	sum := int64(0)
	for _, article := range c.Articles {
		sum += c.Book.Lookup(article)
	}
	return Tax(sum, c.TaxRows)
}

// Tax adds the taxes to a sum, using a table with the given number of rows.
func Tax(sum int64, rows int) int64 {
	for i := range rows {
		sum = (sum*31 + int64(i)) % 1_000_003
	}
	return sum
}
