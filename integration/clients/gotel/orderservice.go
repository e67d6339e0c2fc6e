package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// Names of the spans that otelhttp creates.
const (
	served = otelhttp.ScopeName + ".GET"
	called = otelhttp.ScopeName + ".HTTP GET"
)

// orderService is the program with its own counters.
type orderService struct {
	options
	tracer    api.Tracer
	traced    []otelhttp.Option
	client    *http.Client
	callees   []string
	nextCalls atomic.Int64

	mu      sync.Mutex
	methods map[string]*done
}

// plain is a client without tracing.
var plain = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}

func newOrderService(provider *trace.TracerProvider, o options) *orderService {
	b := &orderService{options: o, tracer: provider.Tracer(scope), methods: map[string]*done{}}
	b.traced = []otelhttp.Option{otelhttp.WithTracerProvider(provider), otelhttp.WithPropagators(propagation.TraceContext{})}
	b.client = &http.Client{Transport: otelhttp.NewTransport(plain.Transport, b.traced...)}
	if o.call != "" {
		b.callees = strings.Split(o.call, ",")
	}
	return b
}

// serve serves orders over HTTP, traced by otelhttp.
func (b *orderService) serve() (url string, shut func(), err error) {
	address := b.listen
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, err
	}
	handler := otelhttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.count(served)
		if err := b.handle(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}), "orders", b.traced...)
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(listener) }() // ends at the shutdown
	shut = func() { _ = server.Shutdown(context.Background()) }
	return "http://" + listener.Addr().String(), shut, nil
}

func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body) // the span ends when the body is read to its end
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, answer.Status, text)
	}
	return err
}

// handle creates a span named after its method by the semantic convention's attribute, with a child
// that has only a name.
func (b *orderService) handle(ctx context.Context) (err error) {
	outer := time.Now()
	ctx, span := b.tracer.Start(ctx, "POST /orders", api.WithAttributes(
		attribute.String("code.function.name", "billing/orders.(*Handler).Handle")))
	begin := time.Now()
	b.check(ctx)
	b.span(ctx, "total", b.total)
	if len(b.callees) > 0 {
		b.count(called)
		err = get(ctx, b.client, b.callees[int(b.nextCalls.Add(1))%len(b.callees)])
	}
	b.audit()
	pass(b.order, 100*time.Microsecond)
	wall := time.Since(begin)
	span.End()
	b.took("billing/orders.Handler.Handle", wall, time.Since(outer))
	return err
}

// check takes equally long in every version, so that the method that became slower stands out.
func (b *orderService) check(ctx context.Context) {
	if !b.checks {
		return
	}
	for i, what := range []string{"Address", "Card", "Customs", "Limit", "Name", "Price", "Stock", "Tax"} {
		b.span(ctx, "check"+what, time.Duration(1+i%2)*time.Millisecond)
	}
}

// span creates a span named by the tracer and itself.
func (b *orderService) span(ctx context.Context, name string, wait time.Duration) {
	outer := time.Now()
	_, span := b.tracer.Start(ctx, name)
	begin := time.Now()
	pass(wait, 200*time.Microsecond)
	wall := time.Since(begin)
	span.End()
	b.took(scope+"."+name, wall, time.Since(outer))
}

// count counts a call whose span only the library can time.
func (b *orderService) count(method string) { b.took(method, 0, 0) }

func (b *orderService) took(method string, wall, outer time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.methods[method]
	if d == nil {
		d = new(done)
		b.methods[method] = d
	}
	d.Calls++
	d.WallNS += int64(wall)
	d.OuterWallNS += int64(outer)
}

// pass waits, or computes if wait is 0.
func pass(wait, work time.Duration) {
	if wait > 0 {
		time.Sleep(wait)
		return
	}
	for begin := time.Now(); time.Since(begin) < work; {
	}
}
