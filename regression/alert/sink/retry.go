package sink

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

// Waits between attempts: each is twice the one before, up to the most, and is
// drawn from its upper half so that many jobs do not come back at once.
const (
	firstWait = 500 * time.Millisecond
	mostWait  = 30 * time.Second
)

// Deliver sends a message until it is taken, refused for good, or the context
// ends. It does not begin to wait for what lies behind the context's deadline.
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
