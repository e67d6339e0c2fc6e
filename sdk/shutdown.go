package corehour

import (
	"context"
	"fmt"
	"os"
	"time"
)

// shutdown switches the probes off and sends what is left. Until all of the engine
// has ended there is no room for another one. A writer or an HTTP client of the
// program's may mind no context: what is held up there is left to itself.
func (e *engine) shutdown(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	registry.mu.Lock()
	e.closing = true
	e.switchOff()
	registry.mu.Unlock()

	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, shutdownPatience)
		defer cancel()
	}
	defer context.AfterFunc(ctx, e.giveUp)()
	unknownCalls := ledger.writeUnknown.Load()
	e.stopPolling()
	close(e.stopping)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.stopped.Wait()
		e.release()
	}()
	inTime := endsInTime(ctx, ended)
	e.flushMessages(ctx)
	return e.undelivered(ctx, unknownCalls, inTime)
}

// endsInTime waits until the engine has ended, or the context and the moment that the
// engine takes to notice.
func endsInTime(ctx context.Context, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-ctx.Done():
	}
	grace := time.NewTimer(shutdownGrace)
	defer grace.Stop()
	select {
	case <-ended:
		return true
	case <-grace.C:
		return false
	}
}

// release makes room for another engine, once nothing of this one runs any more.
func (e *engine) release() {
	e.giveUp()
	if e.client == nil { // the program's own client may have others' connections
		e.http.CloseIdleConnections()
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	registry.engine = nil
}

// flushMessages gives the last messages a moment to be written: the program may end next.
// It does not wait longer, as stderr may not be read.
func (e *engine) flushMessages(ctx context.Context) {
	select {
	case <-messages.Write():
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
}

const (
	// shutdownPatience holds when the context of shutdown has no deadline.
	shutdownPatience = 10 * time.Second
	// shutdownGrace is what comes on top for what minds the end of a context.
	shutdownGrace = time.Second
)

// undelivered returns an error with what shutdown could not deliver, given the calls of
// unknown outcome before it. If the engine has not ended, a request is still in flight.
func (e *engine) undelivered(ctx context.Context, unknownCalls int64, ended bool) error {
	calls := e.intervals.calls()
	measurements := int64(e.ring.Length()) + e.cells.measurements()
	unknownCalls = ledger.writeUnknown.Load() - unknownCalls
	if !ended {
		unknownCalls += e.inFlightCalls.Load()
	}
	if ended && calls == 0 && measurements == 0 && unknownCalls == 0 {
		return nil
	}
	err := fmt.Errorf("corehour: shutdown: not delivered: %d calls and %d measurements; of unknown outcome: %d calls", calls, measurements, unknownCalls)
	if !ended {
		holder := "the HTTP client of the program minds no context"
		if e.writer != nil {
			holder = "the writer takes no more"
			if e.writer == os.Stderr {
				holder = "stderr is read too slowly"
			}
		}
		err = fmt.Errorf("%w: a request has not ended, as %s; Start is refused until it has", err, holder)
	} else if e.lastFault != nil {
		err = fmt.Errorf("%w: %w", err, e.lastFault)
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	return err
}
