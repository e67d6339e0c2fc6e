package corehour

import (
	"context"
	"fmt"
	"os"
	"time"
)

// shutdown switches the probes off and sends the remaining data. No other engine can start before
// all of this one has ended. A writer or HTTP client of the program can ignore the context; shutdown
// does not wait for it.
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

// endsInTime waits until the engine has ended, or until the context has, plus the moment that the
// engine needs to notice.
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

// release allows the next engine to start, once nothing of this one runs.
func (e *engine) release() {
	e.giveUp()
	if e.client == nil { // the program's own client can have other connections
		e.http.CloseIdleConnections()
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	registry.engine = nil
}

// flushMessages waits a moment for the last messages to be written, because the program can end next.
// It does not wait longer, because stderr may not be read.
func (e *engine) flushMessages(ctx context.Context) {
	select {
	case <-messages.Write():
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
}

const (
	// shutdownPatience is the deadline if the context of shutdown has none.
	shutdownPatience = 10 * time.Second
	// shutdownGrace is the additional time for parts that react to the end of a context.
	shutdownGrace = time.Second
)

// undelivered returns an error that lists the data shutdown could not deliver. unknownCalls is the
// number of calls of unknown outcome before it. If the engine has not ended, a request is in flight.
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
