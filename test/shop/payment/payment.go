// Package payment waits for the bank: wall time without CPU.
package payment

import (
	"context"
	"time"

	"shop/truth"
)

var chargeCalls = truth.Counter("shop/payment.(*Gateway).Charge")

// Gateway talks to a bank that takes its time.
type Gateway struct {
	Delay time.Duration
}

// Charge charges an amount. Its goroutine waits, so methods.json has it as
// blocking: its CPU is not timed and no thread is held.
func (g *Gateway) Charge(ctx context.Context, cents int64) error {
	chargeCalls.Add(1)
	select {
	case <-time.After(g.Delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
