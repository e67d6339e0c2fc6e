package harness

import (
	"context"
	"fmt"
	"time"
)

// Await polls until holds returns true. After patience it returns the error of the last poll.
func Await(ctx context.Context, patience time.Duration, what string, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		ok, err := holds(ctx)
		if ok && err == nil {
			return nil
		}
		if err != nil {
			last = err
		}
		select {
		case <-ctx.Done():
			if last != nil {
				return fmt.Errorf("after %s still waiting for %s: %w", patience, what, last)
			}
			return fmt.Errorf("after %s still waiting for %s", patience, what)
		case <-ticker.C:
		}
	}
}
