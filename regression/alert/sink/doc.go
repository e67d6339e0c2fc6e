// Package sink sends messages to where people look: a webhook of one's own, the
// Alertmanager, Slack or what understands its webhooks.
//
// Its invariant: a secret (the address of a webhook, a header) is read from the
// environment or a file, and no error, log line or state holds it.
//
// It remembers nothing: what was sent is known by package state.
package sink

import (
	"context"
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

// Sink is one place to send messages to.
type Sink interface {
	// Name tells sinks apart, in messages and in the state. It holds no secret.
	Name() string
	// Refreshes reports whether firing alerts are sent at every evaluation, as the
	// Alertmanager wants, instead of once.
	Refreshes() bool
	// Send sends one message, trying once. Its error is a *Failure.
	Send(ctx context.Context, m alert.Message) error
}

// Failure is why a message was not taken.
type Failure struct {
	Reason string
	// Retry reports whether the same message may be taken later; After is how long
	// the other side wants to be left alone, 0 if it does not say.
	Retry bool
	After time.Duration
}

func (f *Failure) Error() string { return f.Reason }

func permanent(format string, args ...any) *Failure {
	return &Failure{Reason: fmt.Sprintf(format, args...)}
}
