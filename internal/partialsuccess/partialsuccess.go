// Package partialsuccess carries refusals of spans from the components of a pipeline to the answer of the receiver, as
// OTLP's partial success.
//
// Its invariant: it changes no outcome. A component that reports a refusal here counts it in its own metrics too.
package partialsuccess

import (
	"context"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// maxMessages bounds the text of an answer.
const maxMessages = 8

// Refusals collects the refusals of one request.
type Refusals struct {
	mu       sync.Mutex
	spans    int64
	messages []string
}

type key struct{}

// NewContext returns a context in which Add reports to the returned Refusals.
func NewContext(ctx context.Context) (context.Context, *Refusals) {
	r := new(Refusals)
	return context.WithValue(ctx, key{}, r), r
}

// Add reports that a component refuses spans of the request of ctx, and why. Without a receiver that listens it does
// nothing.
func Add(ctx context.Context, spans int64, message string) {
	r, ok := ctx.Value(key{}).(*Refusals)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans += spans
	if len(r.messages) < maxMessages {
		r.messages = append(r.messages, message)
	}
}

// Response returns the answer to the request, and false if nothing was refused.
func (r *Refusals) Response() (ptraceotlp.ExportResponse, bool) {
	response := ptraceotlp.NewExportResponse()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.messages) == 0 {
		return response, false
	}
	response.PartialSuccess().SetRejectedSpans(r.spans)
	response.PartialSuccess().SetErrorMessage(strings.Join(r.messages, "; "))
	return response, true
}
