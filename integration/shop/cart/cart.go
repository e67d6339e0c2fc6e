// Package cart adds up carts.
package cart

import (
	"context"

	"shop/price"
	"shop/truth"

	corehour "github.com/corehour/corehour/sdk"
)

var (
	totalMethod = corehour.NewMethod("shop/cart.(*Cart).Total", corehour.Rate(1))
	totalCalls  = truth.Counter("shop/cart.(*Cart).Total")
)

// Cart is what somebody wants to buy.
type Cart struct {
	Articles []string
	Book     *price.Book
}

// Total tells what the cart costs, taxes included.
func (c *Cart) Total(ctx context.Context) int64 {
	defer totalMethod.BeginContext(ctx).End()
	totalCalls.Add(1)
	sum := int64(0)
	for _, article := range c.Articles {
		sum += c.Book.Lookup(ctx, article)
	}
	for i := range 20_000 { // the tax tables
		sum = (sum*31 + int64(i)) % 1_000_003
	}
	return sum
}
