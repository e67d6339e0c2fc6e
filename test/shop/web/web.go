// Package web handles the shop's requests: one method per kind of request.
package web

import (
	"context"

	"shop/cart"
	"shop/payment"
	"shop/receipt"
	"shop/search"
	"shop/truth"
)

var (
	checkoutCalls = truth.Counter("shop/web.(*Handler).Checkout")
	browseCalls   = truth.Counter("shop/web.(*Handler).Browse")
)

// Handler serves requests.
type Handler struct {
	Index   *search.Index
	Printer *receipt.Printer
	Bank    *payment.Gateway
}

// Checkout totals a cart, prints its receipt and charges it.
func (h *Handler) Checkout(ctx context.Context, c *cart.Cart, lines []string) error {
	checkoutCalls.Add(1)
	cents := c.Total()
	if h.Printer.Print(lines) > 0 && cents%4 == 0 {
		return h.Bank.Charge(ctx, cents)
	}
	return nil
}

// Browse searches for a word.
func (h *Handler) Browse(word []byte) int {
	browseCalls.Add(1)
	found := h.Index.Find(word)
	return found + h.Index.Find(word[:len(word)-1])
}
