// Package spangen generates method spans like those of a busy service.
package spangen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	methods   = 300
	rate      = 0.05
	cpuRate   = 0.5
	threshold = 0xf3333333333333 // rejects 1 - rate of 2^56
)

// Method returns the name of the n-th method.
func Method(n int) string {
	return fmt.Sprintf("shop/package%d.(*Type%d).Method%d", n%17, n%5, n)
}

// Call makes span a measured call of a random method, the i-th of its batch.
func Call(span ptrace.Span, r *rand.Rand, i int) {
	wall := int64(20_000 * math.Exp(r.NormFloat64()))
	end := time.Now().UnixNano() - int64(i)*1000
	name := Method(int(math.Pow(r.Float64(), 3) * methods)) // a few methods have most calls
	span.SetName(name)
	span.SetKind(ptrace.SpanKindInternal)
	span.SetStartTimestamp(pcommon.Timestamp(end - wall))
	span.SetEndTimestamp(pcommon.Timestamp(end))
	var trace [16]byte
	var id [8]byte
	for j := range trace {
		trace[j] = byte(r.Uint32())
	}
	for j := range id {
		id[j] = byte(r.Uint32())
	}
	span.SetTraceID(trace)
	span.SetSpanID(id)
	span.TraceState().FromRaw(fmt.Sprintf("ot=th:%x;rv:%014x", threshold, threshold+r.Uint64N(1<<56-threshold)))
	attributes := span.Attributes()
	attributes.PutStr("corehour.kind", "call")
	attributes.PutStr("code.function.name", name)
	attributes.PutDouble("corehour.p", rate)
	attributes.PutDouble("corehour.cpu.p", cpuRate)
	attributes.PutStr("corehour.caller", "shop/web.Handler.Checkout")
	attributes.PutStr("corehour.ids", "synthetic")
	if i%2 == 0 {
		attributes.PutStr("corehour.cpu.state", "exact")
		attributes.PutInt("corehour.cpu.time", wall*4/5)
	} else {
		attributes.PutStr("corehour.cpu.state", "not_sampled")
		attributes.PutStr("corehour.group", "worker")
	}
}
