package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// spanAttributes, scopeAttributes and resourceAttributes are all attributes that corehour reads.
var (
	spanAttributes = strings.Fields(`corehour.kind code.function.name code.namespace code.function code.file.path code.line.number corehour.signature
		corehour.cpu.time corehour.cpu.state corehour.p corehour.cpu.p corehour.stratum corehour.caller corehour.stack
		corehour.wall.sum corehour.wall.sum_squares corehour.wall.max corehour.wall.bins corehour.wall.counts
		corehour.cpu.sum corehour.cpu.sum_squares corehour.cpu.max corehour.cpu.bins corehour.cpu.counts
		corehour.measured corehour.cpu.measured corehour.errors corehour.counts.methods corehour.counts.calls corehour.calls
		corehour.weight_basis corehour.tier corehour.reason corehour.rate.configured corehour.rate.effective
		corehour.usd_per_core_hour corehour.price.source corehour.preview.cpu_ns corehour.preview.usd corehour.request.id corehour.group
		corehour.ids corehour.process.cores corehour.process.rss corehour.process.final corehour.process.cpu_limit corehour.host.cores corehour.sdk.dropped`)
	scopeAttributes    = strings.Fields(`corehour.batch.seq corehour.calls.total corehour.process.id corehour.batch.digest corehour.batch.conflict corehour.rates.served`)
	resourceAttributes = strings.Fields(`service.namespace service.name service.version service.instance.id deployment.environment.name host.id host.name
		host.type cloud.provider cloud.region process.creation.time vcs.ref.head.revision corehour.usd_per_core_hour corehour.price.source
		corehour.capacity_type corehour.instance telemetry.sdk.name telemetry.sdk.language container.id process.pid`)
)

var extremeValues = []func(pcommon.Value){
	func(v pcommon.Value) { v.SetInt(0) },
	func(v pcommon.Value) { v.SetInt(-1) },
	func(v pcommon.Value) { v.SetInt(math.MaxInt64) },
	func(v pcommon.Value) { v.SetInt(math.MinInt64) },
	func(v pcommon.Value) { v.SetInt(1 << 53) },
	func(v pcommon.Value) { v.SetDouble(math.NaN()) },
	func(v pcommon.Value) { v.SetDouble(math.Inf(1)) },
	func(v pcommon.Value) { v.SetDouble(math.Inf(-1)) },
	func(v pcommon.Value) { v.SetDouble(1e300) },
	func(v pcommon.Value) { v.SetDouble(-1e300) },
	func(v pcommon.Value) { v.SetDouble(1e-300) },
	func(v pcommon.Value) { v.SetDouble(math.MaxFloat64) },
	func(v pcommon.Value) { v.SetStr("") },
	func(v pcommon.Value) { v.SetStr(strings.Repeat("x", 20_000)) },
	func(v pcommon.Value) { v.SetStr("a\xff\x00\x1b[31m'\"<script>") },
	func(v pcommon.Value) { v.SetStr("9999-12-31T23:59:59Z") },
	func(v pcommon.Value) { v.SetStr("1677-01-01T00:00:00Z") },
	func(v pcommon.Value) { v.SetBool(true) },
	func(v pcommon.Value) { v.SetEmptyBytes().FromRaw(make([]byte, 1000)) },
	func(v pcommon.Value) {
		list := v.SetEmptySlice()
		for range 1000 {
			list.AppendEmpty().SetInt(math.MaxInt64)
		}
	},
	func(v pcommon.Value) { v.SetEmptyMap().PutEmptyMap("a").PutDouble("b", math.NaN()) },
}

var extremeTimes = []pcommon.Timestamp{0, 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64}

// extremes puts each extreme value into each attribute of each kind of span, one at a time.
func (a *attack) extremes(ctx context.Context, client ptraceotlp.GRPCClient) error {
	n := 0
	td := ptrace.NewTraces()
	one := func(kind string, change func(ptrace.ResourceSpans, ptrace.Span)) {
		n++
		single, spans := newRequest(fmt.Sprint("extreme-", n%7), "1.0", fmt.Sprint("pod-", n), "victim-host", a.end.Add(-time.Hour), 1, 10)
		rs := single.ResourceSpans().At(0)
		rs.Resource().Attributes().PutStr("service.namespace", "evil")
		change(rs, a.ordinary(spans, kind, uint64(20_000_000+n)))
		single.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
		if td.ResourceSpans().Len() == 100 {
			a.export(ctx, client, td, 0)
			td = ptrace.NewTraces()
		}
	}
	for _, kind := range []string{"call", "counts", "aggregate", "process", ""} {
		for _, extreme := range extremeValues {
			for _, name := range spanAttributes {
				one(kind, func(_ ptrace.ResourceSpans, s ptrace.Span) { extreme(s.Attributes().PutEmpty(name)) })
			}
			for _, name := range scopeAttributes {
				one(kind, func(rs ptrace.ResourceSpans, _ ptrace.Span) {
					extreme(rs.ScopeSpans().At(0).Scope().Attributes().PutEmpty(name))
				})
			}
			for _, name := range resourceAttributes {
				one(kind, func(rs ptrace.ResourceSpans, _ ptrace.Span) { extreme(rs.Resource().Attributes().PutEmpty(name)) })
			}
		}
		for _, start := range extremeTimes {
			for _, end := range extremeTimes {
				one(kind, func(_ ptrace.ResourceSpans, s ptrace.Span) { s.SetStartTimestamp(start); s.SetEndTimestamp(end) })
			}
			one(kind, func(_ ptrace.ResourceSpans, s ptrace.Span) { s.SetStartTimestamp(start) })
			one(kind, func(_ ptrace.ResourceSpans, s ptrace.Span) { s.SetEndTimestamp(start) })
		}
	}
	a.export(ctx, client, td, 0)
	return nil
}

// ordinary appends a valid span of the kind; "" is a span of a stock SDK.
func (a *attack) ordinary(spans ptrace.SpanSlice, kind string, id uint64) ptrace.Span {
	from := a.end.Add(-5 * time.Minute)
	switch kind {
	case "counts":
		addCounts(spans, id, from, from.Add(time.Minute), []string{"evil.M"}, 10)
	case "process":
		addProcess(spans, id, from, from.Add(time.Minute), time.Second, false)
	default:
		span := newSpan(spans, kind, id, from, from.Add(time.Millisecond))
		at := span.Attributes()
		at.PutStr("code.function.name", "evil.M")
		at.PutDouble("corehour.p", 1)
		at.PutDouble("corehour.cpu.p", 1)
		switch kind {
		case "call":
			at.PutInt("corehour.cpu.time", 1000)
			at.PutStr("corehour.cpu.state", "exact")
		case "aggregate":
			at.PutInt("corehour.measured", 10)
			at.PutInt("corehour.wall.sum", 10_000)
			at.PutDouble("corehour.wall.sum_squares", 1e7)
			at.PutInt("corehour.wall.max", 1000)
		default:
			at.Remove("corehour.kind")
		}
	}
	return spans.At(spans.Len() - 1)
}
