// Package payment waits for the bank: wall time without CPU time.
package payment

import (
	"context"
	"time"

	"shop/truth"
)

var chargeCalls = truth.Counter("shop/payment.(*Gateway).Charge")

// Gateway simulates a slow bank.
type Gateway struct {
	Delay time.Duration
}

// Charge charges an amount. Its goroutine waits, so methods.json marks it as blocking: its CPU is not timed and
// it holds no thread.
func (g *Gateway) Charge(ctx context.Context, cents int64) error {
	chargeCalls.Add(1)
	select {
	case <-time.After(g.Delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
