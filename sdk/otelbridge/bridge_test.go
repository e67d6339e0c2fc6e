package otelbridge

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/corehour/corehour/sdk"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

var bridged = corehour.NewMethod("bridge.Method", corehour.Rate(1))

// A chosen call carries the ids of the current span, as OpenTelemetry's own
// decoder reads them from a real request.
func TestBridge_CallInTrace(t *testing.T) {
	var mu sync.Mutex
	var spans []*tracepb.Span
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // to this machine it is not compressed
		if err != nil {
			t.Error(err)
		}
		var request tracepb.TracesData // a request has the same form
		if err := proto.Unmarshal(body, &request); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range request.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				spans = append(spans, ss.Spans...)
			}
		}
	}))
	defer server.Close()
	shutdown, err := corehour.Start(context.Background(), corehour.WithEndpoint(server.URL), corehour.WithTraceContext(TraceContext))
	if err != nil {
		t.Fatal(err)
	}

	current := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3}, SpanID: trace.SpanID{4, 5, 6}, // not sampled
	})
	bridged.BeginContext(trace.ContextWithSpanContext(context.Background(), current)).End()
	bridged.BeginContext(context.Background()).End()
	if err := shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}

	var calls []*tracepb.Span
	for _, s := range spans {
		if len(s.ProtoReflect().GetUnknown()) > 0 {
			t.Errorf("%s has unknown fields", s.Name)
		}
		if s.Name == "bridge.Method" {
			calls = append(calls, s)
		}
	}
	if len(calls) != 2 {
		t.Fatalf("%d calls of 2 arrived", len(calls))
	}
	if trace.TraceID(calls[0].TraceId) != current.TraceID() || trace.SpanID(calls[0].ParentSpanId) != current.SpanID() {
		t.Errorf("trace %x, parent %x, want %s and %s", calls[0].TraceId, calls[0].ParentSpanId, current.TraceID(), current.SpanID())
	}
	if synthetic(calls[0]) || !synthetic(calls[1]) || len(calls[1].ParentSpanId) != 0 {
		t.Errorf("ids of the calls: %v, %v", calls[0], calls[1])
	}
}

func synthetic(s *tracepb.Span) bool {
	for _, a := range s.Attributes {
		if a.Key == "corehour.ids" {
			return a.Value.GetStringValue() == "synthetic"
		}
	}
	return false
}
