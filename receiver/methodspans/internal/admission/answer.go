package admission

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/corehour/corehour/internal/partialsuccess"
)

// The stock receiver answers a request that the pipeline accepts with an empty response. These functions put the
// refusals of the pipeline's components into it.

// answerWriter replaces the body of a successful answer if something was refused.
type answerWriter struct {
	http.ResponseWriter
	refusals *partialsuccess.Refusals
	body     []byte // instead of the server's; nil = unchanged
}

func (w *answerWriter) WriteHeader(code int) {
	if response, refused := w.refusals.Response(); code == http.StatusOK && refused {
		marshal := response.MarshalProto
		if strings.Contains(w.Header().Get("Content-Type"), "json") {
			marshal = response.MarshalJSON
		}
		if body, err := marshal(); err == nil {
			w.body = body
			if w.Header().Get("Content-Length") != "" {
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			}
		}
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write writes the whole body at the first call. The stock receiver makes one call.
func (w *answerWriter) Write(p []byte) (int, error) {
	if w.body == nil {
		return w.ResponseWriter.Write(p)
	}
	body := w.body
	w.body = []byte{}
	_, err := w.ResponseWriter.Write(body)
	return len(p), err
}

// answer returns the response of the stock receiver with the refusals. Its type is internal to pdata, but decodes itself.
func answer(ctx context.Context, request any, next func(context.Context, any) (any, error)) (any, error) {
	ctx, refusals := partialsuccess.NewContext(ctx)
	response, err := next(ctx, request)
	if err != nil {
		return response, err
	}
	if refused, ok := refusals.Response(); ok {
		if decoder, ok := response.(interface{ UnmarshalProto(data []byte) error }); ok {
			if data, err := refused.MarshalProto(); err == nil {
				return response, decoder.UnmarshalProto(data)
			}
		}
	}
	return response, nil
}
