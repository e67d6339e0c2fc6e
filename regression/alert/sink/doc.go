// Package sink sends messages to a webhook, to the Alertmanager, or to Slack and services with compatible webhooks.
//
// Its invariant: a secret (the address of a webhook, a header) is read from the environment or a file, and is never
// part of an error, a log line or the state.
//
// It keeps no record of sent messages: package state does.
package sink

import (
	"context"
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

// Sink is a destination of messages.
type Sink interface {
	// Name returns the unique name of the sink in messages and in the state. It contains no secret.
	Name() string
	// Refreshes reports whether firing alerts are sent at every evaluation, as the Alertmanager requires, instead of
	// once.
	Refreshes() bool
	// Send makes one attempt to send a message. Its error is a *Failure.
	Send(ctx context.Context, m alert.Message) error
}

// Failure is the reason why a message was not accepted.
type Failure struct {
	Reason string
	// Retry reports whether the same message can be accepted later. After is the wait that the receiver asks for, 0
	// if it asks for none.
	Retry bool
	After time.Duration
}

func (f *Failure) Error() string { return f.Reason }

func permanent(format string, args ...any) *Failure {
	return &Failure{Reason: fmt.Sprintf(format, args...)}
}
