package config

import (
	"fmt"
	"strings"
	"time"
)

// request is an OTLP request in JSON, in the form of any SDK.
func request(service, scope string, spans ...string) string {
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[%s,%s,%s]},"scopeSpans":[{"scope":{%s},"spans":[%s]}]}]}`,
		text("service.name", service), text("service.instance.id", "one"), text("process.creation.time", "2026-01-02T03:04:05Z"),
		scope, strings.Join(spans, ","))
}

func span(id byte, name string, attributes ...string) string {
	begin := time.Now().Add(-time.Second)
	return fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","name":%q,"kind":1,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[%s]}`,
		int(id)+1, int(id)+1, name, begin.UnixNano(), begin.Add(5*time.Millisecond).UnixNano(), strings.Join(attributes, ","))
}

func text(key, value string) string {
	return fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, key, value)
}

func number(key string, value int) string {
	return fmt.Sprintf(`{"key":%q,"value":{"intValue":"%d"}}`, key, value)
}

func double(key string, value float64) string {
	return fmt.Sprintf(`{"key":%q,"value":{"doubleValue":%v}}`, key, value)
}

// callOf is one span of a foreign SDK.
func callOf(service, function string) string {
	return request(service, `"name":"test"`, span(1, "Total", text("code.function.name", function)))
}

// batchOf is a request in the form of the corehour SDK: counts of a method, a measured call with generated
// ids, one with the ids of a trace, and the process.
func batchOf(service string, seq int) string {
	scope := fmt.Sprintf(`"name":"github.com/corehour/corehour/sdk","attributes":[%s,%s]`,
		number("corehour.batch.seq", seq), number("corehour.calls.total", 7*seq))
	call := []string{
		text("corehour.kind", "call"), text("code.function.name", "shop/cart.(*Cart).Total"), double("corehour.p", 0.5),
		text("corehour.cpu.state", "not_sampled"),
	}
	return request(service, scope,
		span(1, "shop/cart.(*Cart).Total", append(call, text("corehour.ids", "synthetic"))...),
		span(2, "shop/cart.(*Cart).Total", call...),
		span(3, "counts", sevenCalls()...),
		span(4, "process", text("corehour.kind", "process"), double("corehour.process.cores", 2)),
	)
}

// timedBatchOf is such a request with the CPU time of one call.
func timedBatchOf(service string) string {
	return request(service, `"name":"github.com/corehour/corehour/sdk","attributes":[`+number("corehour.batch.seq", 1)+`,`+number("corehour.calls.total", 7)+`]`,
		span(1, "shop/cart.(*Cart).Total", text("corehour.kind", "call"), text("code.function.name", "shop/cart.(*Cart).Total"), double("corehour.p", 0.5),
			text("corehour.cpu.state", "exact"), number("corehour.cpu.time", 4_000_000), double("corehour.cpu.p", 1), text("corehour.ids", "synthetic")),
		span(2, "counts", sevenCalls()...),
	)
}

func sevenCalls() []string {
	return []string{
		text("corehour.kind", "counts"),
		`{"key":"corehour.counts.methods","value":{"arrayValue":{"values":[{"stringValue":"shop/cart.(*Cart).Total"}]}}}`,
		`{"key":"corehour.counts.calls","value":{"arrayValue":{"values":[{"intValue":"7"}]}}}`,
	}
}
