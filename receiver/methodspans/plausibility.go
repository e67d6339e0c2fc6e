package methodspans

import (
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// This file checks numbers of the right type for impossible values, which could distort figures
// of other services or overflow their sums.

const (
	// longestUnknown is the maximum duration of a call or interval if the start of the process
	// is not known.
	longestUnknown = 7 * 24 * time.Hour
	// cpuSlack is the CPU time per core that can be from before the interval.
	cpuSlack = time.Second
	// leastProbability is the lowest probability that a trace state can express.
	leastProbability = 1.0 / (1 << 56)
)

// lifetime is the time range in which a process can have run, by the collector's clock.
type lifetime struct {
	now   int64
	until int64 // latest end of a span
	born  int64 // earliest start of the process; 0 = not known
}

func (n *normalizer) lifetimeOf(resource *methodspan.ParsedResource) lifetime {
	now := n.now().UnixNano()
	l := lifetime{now: now, until: now + int64(n.tolerance.Future)}
	if start := resource.ProcessStartNS; start != 0 && start <= l.until {
		l.born = start - int64(n.tolerance.Future)
	}
	return l
}

// longest returns the maximum duration, in ns, of a call or interval that ended at end.
func (l lifetime) longest(end int64) int64 {
	if l.born == 0 {
		return int64(longestUnknown)
	}
	return max(0, end-l.born)
}

// notLater moves a span whose end is in the future to the collector's clock. The span keeps its
// duration: a clock that is ahead measures durations correctly.
func (p *requestPass) notLater(span ptrace.Span) {
	end := int64(span.EndTimestamp())
	if end <= p.life.until {
		return
	}
	p.fault(timeInFuture, corrected)
	start := p.life.now - (end - int64(span.StartTimestamp()))
	span.SetStartTimestamp(pcommon.Timestamp(max(1, start)))
	span.SetEndTimestamp(pcommon.Timestamp(p.life.now))
}

// possibleInterval limits the times of a span that sums up an interval to the lifetime of its
// process.
func (p *requestPass) possibleInterval(span ptrace.Span) {
	p.notLater(span)
	end := int64(span.EndTimestamp())
	if earliest := end - p.life.longest(end); int64(span.StartTimestamp()) < earliest {
		p.fault(wallExceedsAge, corrected)
		span.SetStartTimestamp(pcommon.Timestamp(earliest))
	}
}

// possibleCall reports whether the duration of a call is possible.
func (p *requestPass) possibleCall(span ptrace.Span) bool {
	p.notLater(span)
	end := int64(span.EndTimestamp())
	if end-int64(span.StartTimestamp()) > p.life.longest(end) {
		p.fault(wallExceedsAge, dropped)
		return false
	}
	return true
}

// possibleSums reports whether the number and the wall time of measured calls are possible in
// the span's interval: each call takes at least a nanosecond of a core.
func (p *requestPass) possibleSums(span ptrace.Span, measured int64) bool {
	end := int64(span.EndTimestamp())
	lasted := float64(end-int64(span.StartTimestamp())) + float64(time.Second)
	longest := float64(p.life.longest(end))
	switch {
	case measured > methodspan.MostMeasured || float64(measured) > lasted*methodspan.MostCores:
		p.fault(measuredImpossible, dropped)
		return false
	case p.parsed.Whole(methodspan.FieldWallSum) > methodspan.MostTime, float64(p.parsed.Whole(methodspan.FieldWallSum)) > float64(measured)*longest:
		p.fault(wallExceedsAge, dropped)
		return false
	}
	return true
}

// possibleCPU reports whether a process can have used cpu ns in the span's interval.
func (p *requestPass) possibleCPU(span ptrace.Span, cpu int64) bool {
	cores := p.parsed.Number(methodspan.FieldHostCores)
	if cores <= 0 {
		cores = methodspan.MostCores
	}
	lasted := float64(span.EndTimestamp()-span.StartTimestamp()) + float64(cpuSlack)
	return float64(cpu) <= min(lasted*math.Ceil(cores), methodspan.MostTime)
}

// possibleTotal removes an impossible total of calls.
func (p *requestPass) possibleTotal(scope pcommon.InstrumentationScope) {
	v, ok := scope.Attributes().Get(methodspan.AttrCallsTotal)
	if !ok {
		return
	}
	if total, ok := methodspan.IntOf(v); !ok || total < 0 || total >= methodspan.MostMeasured {
		p.fault(totalInvalid, corrected)
		scope.Attributes().Remove(methodspan.AttrCallsTotal)
	}
}

// validProbability reports whether a call can have been kept with probability p.
func validProbability(p float64) bool { return p >= leastProbability && p <= 1 }

// untrustedPrice removes a price set by the sender. It returns false if there is none or prices
// are trusted.
func (n *normalizer) untrustedPrice(attributes pcommon.Map, t *requestCounts) bool {
	if n.trustPrices {
		return false
	}
	price, source := attributes.Remove(methodspan.AttrPrice), attributes.Remove(methodspan.AttrPriceSource)
	if !price && !source {
		return false
	}
	t.fault(priceUntrusted, corrected)
	return true
}
