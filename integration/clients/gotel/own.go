package main

import (
	"cmp"
	"context"
	"time"

	corehour "github.com/corehour/corehour/sdk"
)

// audit is the method that corehour's SDK times, in a service whose other methods the stock SDK
// traces.
var audit = corehour.NewMethod(scope+".audit", corehour.Blocking())

func (o options) process() string { return cmp.Or(o.instance, o.service+"-"+o.version) }

// startOwn starts corehour's SDK if --own asks for it.
func startOwn(ctx context.Context, o options) (end func(context.Context) error, err error) {
	if o.own == "" {
		return func(context.Context) error { return nil }, nil
	}
	return corehour.Start(ctx,
		corehour.WithService(o.service, o.version),
		corehour.WithAttributes(map[string]string{"service.instance.id": o.process(), "deployment.environment.name": "test"}),
		corehour.WithEndpoint(o.own),
		corehour.WithSample(0.5))
}

func (b *orderService) audit() {
	if b.own == "" {
		return
	}
	outer := time.Now()
	call := audit.Begin()
	begin := time.Now()
	pass(b.order, 100*time.Microsecond)
	wall := time.Since(begin)
	call.End()
	b.took(scope+".audit", wall, time.Since(outer))
}
