// Package web is the shop's front door: one method per kind of request.
package web

import (
	"context"

	"shop/cart"
	"shop/payment"
	"shop/receipt"
	"shop/search"
	"shop/truth"

	corehour "github.com/corehour/corehour/sdk"
)

var (
	checkoutMethod = corehour.NewMethod("shop/web.(*Handler).Checkout", corehour.Rate(1), corehour.CPURate(0.5))
	browseMethod   = corehour.NewMethod("shop/web.(*Handler).Browse", corehour.Rate(1))
	checkoutCalls  = truth.Counter("shop/web.(*Handler).Checkout")
	browseCalls    = truth.Counter("shop/web.(*Handler).Browse")
)

// Handler serves requests.
type Handler struct {
	Index   *search.Index
	Printer *receipt.Printer
	Bank    *payment.Gateway
}

// Checkout adds a cart up, prints its receipt and charges it.
func (h *Handler) Checkout(ctx context.Context, c *cart.Cart, lines []string) (err error) {
	defer checkoutMethod.BeginContext(ctx).EndError(&err)
	checkoutCalls.Add(1)
	cents := c.Total(ctx)
	if h.Printer.Print(ctx, lines) > 0 && cents%4 == 0 {
		return h.Bank.Charge(ctx, cents)
	}
	return nil
}

// Browse looks a word up.
func (h *Handler) Browse(ctx context.Context, word []byte) int {
	defer browseMethod.BeginContext(ctx).End()
	browseCalls.Add(1)
	found := h.Index.Find(ctx, word)
	return found + h.Index.Find(ctx, word[:len(word)-1])
}
