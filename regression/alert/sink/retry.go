package sink

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

// Waits between attempts. Each is twice the one before, up to a maximum. The wait is drawn from the upper half of
// this time, so that many jobs do not retry at the same moment.
const (
	firstWait = 500 * time.Millisecond
	mostWait  = 30 * time.Second
)

// Deliver sends a message until it is accepted or permanently refused, or ctx ends. It does not wait for an attempt
// that would be after the deadline of ctx.
func Deliver(ctx context.Context, s Sink, m alert.Message) error {
	wait := firstWait
	for {
		err := s.Send(ctx, m)
		var f *Failure
		if err == nil || !errors.As(err, &f) || !f.Retry {
			return err
		}
		pause := max(wait/2+rand.N(wait/2), f.After)
		wait = min(2*wait, mostWait)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}
