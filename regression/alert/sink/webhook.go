package sink

import (
	"context"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/output"
)

// Webhook posts a message unchanged as JSON.
type Webhook struct {
	name string
	to   *Endpoint
}

// NewWebhook returns a sink for a webhook.
func NewWebhook(name string, to *Endpoint) *Webhook { return &Webhook{name, to} }

// Name implements Sink.
func (w *Webhook) Name() string { return w.name }

// Refreshes implements Sink.
func (w *Webhook) Refreshes() bool { return false }

// Send implements Sink.
func (w *Webhook) Send(ctx context.Context, m alert.Message) error {
	body, err := output.Line(m)
	if err != nil {
		return permanent("the message can't be written: %v", err)
	}
	return w.to.post(ctx, m.ID, body)
}
