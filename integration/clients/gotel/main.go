// Command gotel is a small program traced by the stock OpenTelemetry SDK for Go. It knows nothing
// of corehour, unless --own asks for one method that corehour's SDK times. It writes its own record
// to a file: the number of spans that it began, and their time by its own clock.
//
//	gotel --protocol grpc --endpoint localhost:4317 --orders 500 --report r.json
//
// Orders can arrive over HTTP (--listen), and each can call another gotel (--call).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.opentelemetry.io/contrib/samplers/jaegerremote"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// scope is the name of the tracer: the class of spans without a code attribute.
const scope = "billing/orders"

// options are the flags.
type options struct {
	protocol, endpoint         string
	service, version, instance string
	ratio                      float64
	rates                      string
	initial                    float64
	orders, workers            int
	duration, total, order     time.Duration
	checks                     bool
	flush                      time.Duration
	begin, listen, call        string
	overHTTP                   bool
	own                        string
	report                     string
}

func main() {
	var o options
	flag.StringVar(&o.protocol, "protocol", "grpc", "grpc or http")
	flag.StringVar(&o.endpoint, "endpoint", "", "host:port of the collector")
	flag.StringVar(&o.service, "service", "billing", "name of the service")
	flag.StringVar(&o.version, "version", "1.0", "version of the service")
	flag.StringVar(&o.instance, "instance", "", "name of the process, - for none, as the SDK has it by default (default SERVICE-VERSION)")
	flag.Float64Var(&o.ratio, "ratio", 1, "share of traces that are sampled at the head")
	flag.StringVar(&o.rates, "rates", "", "URL of a server of Jaeger's remote sampling protocol, instead of --ratio")
	flag.Float64Var(&o.initial, "initial", 0, "share of traces to sample until the first answer of --rates; 0: wait for it")
	flag.IntVar(&o.orders, "orders", 100, "orders to handle, at least")
	flag.IntVar(&o.workers, "workers", 1, "orders to handle at a time")
	flag.DurationVar(&o.duration, "duration", 0, "how long to handle orders, at least")
	flag.DurationVar(&o.total, "total", 0, "how long to wait in total, instead of working for 200us")
	flag.DurationVar(&o.order, "order", 0, "how long an order waits after total, instead of working for 100us")
	flag.BoolVar(&o.checks, "checks", false, "check eight things of each order, which waits 1 or 2ms each")
	flag.DurationVar(&o.flush, "flush", 5*time.Second, "how often to export spans")
	flag.StringVar(&o.begin, "begin", "", "file to wait for; REPORT.ready says that the program waits")
	flag.StringVar(&o.listen, "listen", "", "host:port to serve orders over HTTP on, until SIGTERM")
	flag.BoolVar(&o.overHTTP, "over-http", false, "send the orders to itself, over HTTP")
	flag.StringVar(&o.call, "call", "", "URLs of which each order calls one, in turn, separated by commas")
	flag.StringVar(&o.own, "own", "", "URL of the collector for corehour's SDK, which then times the audit of each order")
	flag.StringVar(&o.report, "report", "", "file for the report")
	flag.Parse()
	if err := runClient(o); err != nil {
		fmt.Fprintln(os.Stderr, "gotel:", err)
		os.Exit(1)
	}
}

// done is the program's own record of one method. The length of its spans is between the time read
// inside of them and the time read around them.
type done struct {
	Calls       int64 `json:"calls"`
	WallNS      int64 `json:"wall_ns"`
	OuterWallNS int64 `json:"outer_wall_ns"`
}

func runClient(o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exporter, err := newExporter(ctx, o.protocol, o.endpoint)
	if err != nil {
		return err
	}
	root := trace.TraceIDRatioBased(o.ratio)
	if o.rates != "" {
		remote := newRemoteSampler(o)
		defer remote.Close()
		root = remote
	}
	says := []attribute.KeyValue{
		attribute.String("service.name", o.service),
		attribute.String("service.version", o.version),
		attribute.String("deployment.environment.name", "test"),
	}
	if o.instance != "-" {
		says = append(says, attribute.String("service.instance.id", o.process()))
	}
	of, err := resource.Merge(resource.Default(), resource.NewSchemaless(says...))
	if err != nil {
		return err
	}
	provider := trace.NewTracerProvider(
		trace.WithBatcher(exporter, trace.WithMaxQueueSize(1<<16), trace.WithBlocking(), trace.WithBatchTimeout(o.flush)),
		trace.WithSampler(trace.ParentBased(root)),
		trace.WithResource(of),
	)
	endOwn, err := startOwn(ctx, o)
	if err != nil {
		return err
	}
	b := newOrderService(provider, o)
	if err := b.work(ctx); err != nil {
		return err
	}
	if err := errors.Join(provider.Shutdown(context.WithoutCancel(ctx)), endOwn(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	data, err := json.Marshal(b.methods)
	if err != nil {
		return err
	}
	return os.WriteFile(o.report, data, 0o644)
}

// newRemoteSampler returns a sampler that starts with the served rate, unless it is to start with
// another.
func newRemoteSampler(o options) *jaegerremote.Sampler {
	remote := jaegerremote.New(o.service,
		jaegerremote.WithSamplingServerURL(o.rates),
		jaegerremote.WithSamplingRefreshInterval(100*time.Millisecond),
		jaegerremote.WithInitialSampler(trace.TraceIDRatioBased(o.initial)))
	if o.initial == 0 {
		remote.UpdateSampler()
	}
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

// work processes the orders, or serves them until the context ends.
func (b *orderService) work(ctx context.Context) error {
	handle := b.handle
	if b.listen != "" || b.overHTTP {
		url, shut, err := b.serve()
		if err != nil {
			return err
		}
		defer shut()
		if b.listen != "" {
			err := os.WriteFile(b.report+".ready", nil, 0o644)
			<-ctx.Done()
			return err
		}
		handle = func(ctx context.Context) error { return get(ctx, plain, url) }
	}
	if err := await(ctx, b.begin, b.report); err != nil {
		return err
	}
	deadline := time.Now().Add(b.duration)
	var n atomic.Int64
	var wg sync.WaitGroup
	faults := make(chan error, b.workers)
	for range b.workers {
		wg.Go(func() {
			for n.Add(1) <= int64(b.orders) || time.Now().Before(deadline) {
				if err := handle(ctx); err != nil {
					faults <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(faults)
	return <-faults
}

// await waits for file, and writes report to signal that it waits.
func await(ctx context.Context, file, report string) error {
	if file == "" {
		return nil
	}
	if err := os.WriteFile(report+".ready", nil, 0o644); err != nil {
		return err
	}
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
