package costattribution

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

const nanosPerHour = 3.6e12

// previewWriter stamps what a measurement stands for, by its probability alone:
// the counts that the query uses have not met it yet. It is reused from span to
// span.
type previewWriter struct {
	spend   spend
	reading reading
	visit   func(string, pcommon.Value) bool
}

type reading struct {
	kind        string
	cpu, sum    int64
	hasCPU      bool
	hasSum      bool
	measured    int64 // of an aggregate, with CPU
	p, cpuP     float64
	price       float64 // of the span itself
	caller      string
	tier        string
	hasPreviews bool
}

func (r *reading) visit(name string, v pcommon.Value) bool {
	switch name {
	case methodspan.AttrKind:
		r.kind = v.Str()
	case methodspan.AttrCPUTime:
		r.cpu, r.hasCPU = methodspan.IntOf(v)
	case methodspan.AttrCPUSum:
		r.sum, r.hasSum = methodspan.IntOf(v)
	case methodspan.AttrCPUMeasured:
		r.measured, _ = methodspan.IntOf(v)
	case methodspan.AttrP:
		r.p, _ = methodspan.FloatOf(v)
	case methodspan.AttrCPUP:
		r.cpuP, _ = methodspan.FloatOf(v)
	case methodspan.AttrPrice:
		r.price, _ = methodspan.FloatOf(v)
	case methodspan.AttrCaller:
		r.caller = v.Str()
	case methodspan.AttrTier:
		r.tier = v.Str()
	case methodspan.AttrPreviewCPU, methodspan.AttrPreviewUSD:
		r.hasPreviews = true
	}
	return true
}

// extrapolated is the CPU time that the span stands for, false if it has none.
func (r *reading) extrapolated() (nanos float64, ok bool) {
	switch {
	case r.kind == methodspan.KindCall && r.hasCPU:
		nanos = float64(r.cpu)
	case r.kind == methodspan.KindAggregate && r.hasSum && r.measured > 0:
		nanos = float64(r.sum)
	default:
		return 0, false
	}
	nanos /= r.p * r.cpuP
	return nanos, nanos >= 0 && !math.IsInf(nanos, 0)
}

func (w *previewWriter) write(spans ptrace.SpanSlice, usdPerCoreHour float64) {
	for i := range spans.Len() {
		attributes := spans.At(i).Attributes()
		w.reading = reading{}
		attributes.Range(w.visit)
		if w.reading.kind == methodspan.KindProcess && w.reading.hasCPU && w.reading.cpu > 0 {
			w.spend.addProcess(float64(w.reading.cpu), usdPerCoreHour)
		}
		nanos, ok := w.reading.extrapolated()
		if w.reading.hasPreviews { // of an earlier stage, where p was another
			attributes.Remove(methodspan.AttrPreviewCPU)
			attributes.Remove(methodspan.AttrPreviewUSD)
		}
		if !ok {
			continue
		}
		price := usdPerCoreHour
		if w.reading.price > 0 && !math.IsInf(w.reading.price, 0) {
			price = w.reading.price
		}
		if w.reading.caller == methodspan.CallerEntry {
			w.spend.addEntry(w.reading.tier, nanos, price)
		}
		attributes.EnsureCapacity(attributes.Len() + 2)
		attributes.PutDouble(methodspan.AttrPreviewCPU, nanos)
		if price > 0 {
			attributes.PutDouble(methodspan.AttrPreviewUSD, nanos/nanosPerHour*price)
		}
	}
}
