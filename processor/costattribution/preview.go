package costattribution

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

const nanosPerHour = 3.6e12

// extrapolated returns the CPU time that a measurement represents, and false if it has none.
func extrapolated(kind string, attributes pcommon.Map) (nanos float64, ok bool) {
	switch kind {
	case methodspan.KindCall:
		nanos, ok = number(attributes, methodspan.AttrCPUTime)
	case methodspan.KindAggregate:
		measured, _ := number(attributes, methodspan.AttrCPUMeasured)
		nanos, ok = number(attributes, methodspan.AttrCPUSum)
		ok = ok && measured > 0
	}
	if !ok {
		return 0, false
	}
	p, _ := number(attributes, methodspan.AttrP)
	cpuP, _ := number(attributes, methodspan.AttrCPUP)
	nanos /= p * cpuP
	return nanos, nanos >= 0 && !math.IsInf(nanos, 0)
}

// number returns an attribute's value, false if it has none.
func number(attributes pcommon.Map, name string) (float64, bool) {
	v, ok := attributes.Get(name)
	if !ok {
		return 0, false
	}
	if n, ok := methodspan.IntOf(v); ok {
		return float64(n), true
	}
	return methodspan.FloatOf(v)
}

func text(attributes pcommon.Map, name string) string {
	if v, ok := attributes.Get(name); ok {
		return v.Str()
	}
	return ""
}

// preview writes the cost that each measurement represents, by its probability alone, because the counts that
// queries use are not known yet. It adds these costs to the sums. It looks up attributes one by one, since
// visiting all of them takes twice as long.
func (s *spend) preview(spans ptrace.SpanSlice, usdPerCoreHour float64) {
	for _, span := range spans.All() {
		attributes := span.Attributes()
		kind := text(attributes, methodspan.AttrKind)
		if kind == methodspan.KindProcess {
			if cpu, ok := number(attributes, methodspan.AttrCPUTime); ok && cpu > 0 {
				s.process.add(cpu, usdPerCoreHour)
			}
			continue
		}
		nanos, ok := extrapolated(kind, attributes)
		if !ok {
			continue
		}
		price := usdPerCoreHour
		if own, ok := number(attributes, methodspan.AttrPrice); ok && own > 0 && !math.IsInf(own, 0) {
			price = own
		}
		if text(attributes, methodspan.AttrCaller) == methodspan.CallerEntry {
			s.addEntry(text(attributes, methodspan.AttrTier), nanos, price)
		}
		attributes.PutDouble(methodspan.AttrPreviewCPU, nanos)
		if price > 0 {
			attributes.PutDouble(methodspan.AttrPreviewUSD, nanos/nanosPerHour*price)
		} else {
			attributes.Remove(methodspan.AttrPreviewUSD) // stamped by an earlier stage
		}
	}
}
