// Command gotel is a small program traced by the stock OpenTelemetry SDK of Go,
// as any team may have it: it knows nothing of corehour. It writes what it did
// to a file: how many spans it began, and how long they took by its own clock.
//
//	gotel --protocol grpc --endpoint localhost:4317 --orders 500 --report r.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/contrib/samplers/jaegerremote"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// scope is the name of the tracer: the class of spans without a code attribute.
const scope = "billing/orders"

func main() {
	protocol := flag.String("protocol", "grpc", "grpc or http")
	endpoint := flag.String("endpoint", "", "host:port of the collector")
	service := flag.String("service", "billing", "name of the service")
	version := flag.String("version", "1.0", "version of the service")
	instance := flag.String("instance", "", "service.instance.id; by default of service and version, - for none, as the SDK has it by default")
	ratio := flag.Float64("ratio", 1, "share of traces that are sampled at the head")
	rates := flag.String("rates", "", "URL of a server of Jaeger's remote sampling protocol, instead of --ratio")
	orders := flag.Int("orders", 100, "orders to handle")
	report := flag.String("report", "", "file for the report")
	flag.Parse()
	if *instance == "" {
		*instance = *service + "-" + *version
	}
	if err := run(*protocol, *endpoint, *service, *version, *instance, *ratio, *rates, *orders, *report); err != nil {
		fmt.Fprintln(os.Stderr, "gotel:", err)
		os.Exit(1)
	}
}

// done is what the program did with one method. Its spans are as long as something
// between what is read inside of them and around them.
type done struct {
	Calls       int64 `json:"calls"`
	WallNS      int64 `json:"wall_ns"`
	OuterWallNS int64 `json:"outer_wall_ns"`
}

func run(protocol, endpoint, service, version, instance string, ratio float64, rates string, orders int, report string) error {
	ctx := context.Background()
	exporter, err := newExporter(ctx, protocol, endpoint)
	if err != nil {
		return err
	}
	sampler := trace.TraceIDRatioBased(ratio)
	if rates != "" {
		remote := newRemoteSampler(rates, service)
		defer remote.Close()
		sampler = trace.ParentBased(remote)
	}
	says := []attribute.KeyValue{
		attribute.String("service.name", service),
		attribute.String("service.version", version),
		attribute.String("deployment.environment.name", "test"),
	}
	if instance != "-" {
		says = append(says, attribute.String("service.instance.id", instance))
	}
	of, err := resource.Merge(resource.Default(), resource.NewSchemaless(says...))
	if err != nil {
		return err
	}
	provider := trace.NewTracerProvider(
		trace.WithBatcher(exporter, trace.WithMaxQueueSize(1<<16), trace.WithBlocking()),
		trace.WithSampler(sampler),
		trace.WithResource(of),
	)
	b := books{tracer: provider.Tracer(scope), methods: map[string]*done{}}
	for range orders {
		b.handle(ctx)
	}
	if err := provider.Shutdown(ctx); err != nil {
		return err
	}
	data, err := json.Marshal(b.methods)
	if err != nil {
		return err
	}
	return os.WriteFile(report, data, 0o644)
}

// newRemoteSampler has been told what to sample when it is returned.
func newRemoteSampler(url, service string) *jaegerremote.Sampler {
	remote := jaegerremote.New(service,
		jaegerremote.WithSamplingServerURL(url),
		jaegerremote.WithSamplingRefreshInterval(100*time.Millisecond),
		jaegerremote.WithInitialSampler(trace.NeverSample()))
	remote.UpdateSampler()
	return remote
}

func newExporter(ctx context.Context, protocol, endpoint string) (trace.SpanExporter, error) {
	switch protocol {
	case "grpc":
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(endpoint), otlptracegrpc.WithInsecure())
	case "http":
		return otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(endpoint), otlptracehttp.WithInsecure())
	}
	return nil, errors.New("--protocol must be grpc or http")
}

// books are the program, and what it knows of itself.
type books struct {
	tracer  api.Tracer
	methods map[string]*done
}

// handle is a span named after its method by the convention's attribute, with a
// child that has a name only.
func (b *books) handle(ctx context.Context) {
	outer := time.Now()
	ctx, span := b.tracer.Start(ctx, "POST /orders", api.WithAttributes(
		attribute.String("code.function.name", "billing/orders.(*Handler).Handle")))
	begin := time.Now()
	b.total(ctx)
	spin(100 * time.Microsecond)
	wall := time.Since(begin)
	span.End()
	b.took("billing/orders.Handler.Handle", wall, time.Since(outer))
}

func (b *books) total(ctx context.Context) {
	outer := time.Now()
	_, span := b.tracer.Start(ctx, "total")
	begin := time.Now()
	spin(200 * time.Microsecond)
	wall := time.Since(begin)
	span.End()
	b.took(scope+".total", wall, time.Since(outer))
}

func (b *books) took(method string, wall, outer time.Duration) {
	d := b.methods[method]
	if d == nil {
		d = new(done)
		b.methods[method] = d
	}
	d.Calls++
	d.WallNS += int64(wall)
	d.OuterWallNS += int64(outer)
}

func spin(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}
