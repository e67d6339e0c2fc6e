// Package payment waits for the bank: wall time without CPU.
package payment

import (
	"context"
	"time"

	"shop/truth"

	corehour "github.com/corehour/corehour/sdk"
)

var (
	chargeMethod = corehour.NewMethod("shop/payment.(*Gateway).Charge", corehour.Rate(0.5), corehour.Blocking())
	chargeCalls  = truth.Counter("shop/payment.(*Gateway).Charge")
)

// Gateway talks to a bank that takes its time.
type Gateway struct {
	Delay time.Duration
}

// Charge charges an amount. Its goroutine waits, so the method is declared
// blocking: its CPU is not timed and no thread is held.
func (g *Gateway) Charge(ctx context.Context, cents int64) (err error) {
	defer chargeMethod.BeginContext(ctx).EndError(&err)
	chargeCalls.Add(1)
	select {
	case <-time.After(g.Delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
