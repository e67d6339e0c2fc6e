package config

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // exporters compress
)

// backend is another OTLP backend: it records the names of spans and accepts them.
type backend struct {
	ptraceotlp.UnimplementedGRPCServer
	mu    sync.Mutex
	spans []string
}

func (b *backend) Export(_ context.Context, r ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rs := range r.Traces().ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				b.spans = append(b.spans, fmt.Sprintf("%s %s %d", s.Name(), s.SpanID(), s.Attributes().Len()))
			}
		}
	}
	return ptraceotlp.NewExportResponse(), nil
}

func (b *backend) names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(slices.Values(b.spans))
}

// TestTee_CopiesTracesOnly sends spans of our SDK and an ordinary span through tee.yaml: the other backend gets
// the spans of traces, the warehouse gets all.
func TestTee_CopiesTracesOnly(t *testing.T) {
	other := &backend{}
	server := grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(server, other)
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { _ = server.Serve(listener); close(served) }()
	t.Cleanup(func() { server.Stop(); <-served })

	c := start(t, "tee.yaml", map[string]string{
		"COREHOUR_TEE_ENDPOINT": listener.Addr().String(), "COREHOUR_TEE_INSECURE": "true",
	})
	url := "http://" + c.http + "/v1/traces"
	if err := post(url, batchOf("shop", 1)); err != nil {
		t.Fatal(err)
	}
	if err := post(url, request("legacy", `"name":"test"`, span(9, "GET /orders"))); err != nil {
		t.Fatal(err)
	}
	c.stop(t)

	got := other.names()
	want := []string{"GET /orders", "shop/cart.(*Cart).Total"}
	if len(got) != len(want) {
		t.Fatalf("the other backend got %q, want %q", got, want)
	}
	for i := range want {
		if got[i][:len(want[i])] != want[i] {
			t.Errorf("the other backend got %q, want %q", got[i], want[i])
		}
	}
	rows := storedRows(t, filepath.Join(c.dir, "corehour-warehouse"))
	slices.Sort(rows)
	if want := []string{"legacy test.GET /orders", "shop .", "shop shop/cart.Cart.Total", "shop shop/cart.Cart.Total", "shop shop/cart.Cart.Total"}; !slices.Equal(rows, want) {
		t.Errorf("stored %q, want %q", rows, want)
	}
}
