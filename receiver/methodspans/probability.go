package methodspans

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// thinnedBelow is how much lower the probability in the trace state must be
// than the one in the attribute before a sampler of somebody else's is
// assumed. A threshold written with four hex digits may differ by 2^-16.
const thinnedBelow = 1 - 1e-4

// thresholdOf reads th of a span that is ours. A th above rv contradicts itself
// and is removed. The trace id says nothing: our SDK draws rv on its own.
func (p *pass) thresholdOf(span ptrace.Span) (probability float64, ok bool) {
	state := span.TraceState().AsRaw()
	if state == "" {
		return 0, false
	}
	ot, err := methodspan.ReadOT(state)
	if err != nil {
		p.fault(traceStateInvalid, passed)
		return 0, false
	}
	if !ot.HasThreshold {
		return 0, false
	}
	if ot.HasRandomness && !ot.Threshold.ShouldSample(ot.Randomness) {
		p.fault(thresholdInconsistent, corrected)
		methodspan.ClearThreshold(span)
		return 0, false
	}
	return ot.Threshold.Probability(), true
}

// callProbability settles corehour.p of a call: th stands for all stages, so a
// lower one replaces it. False if nothing tells p: then the call has no weight.
func (p *pass) callProbability(span ptrace.Span) bool {
	probability := p.reading.numberOf(fieldP)
	threshold, hasThreshold := p.thresholdOf(span)
	switch {
	case !methodspan.ValidProbability(probability):
		if !hasThreshold {
			p.fault(pInvalid, dropped)
			return false
		}
		p.fault(pInvalid, corrected)
	case hasThreshold && threshold < probability*thinnedBelow:
		p.fault(thresholdThinned, corrected)
	default:
		return true
	}
	span.Attributes().PutDouble(methodspan.AttrP, threshold)
	return true
}

// aggregateProbability settles corehour.p of an aggregate. It arrives with
// th:0, whatever its p, so another th is a stage of its own; composed, it is
// set to 0 again, lest the next reader compose it twice.
func (p *pass) aggregateProbability(span ptrace.Span) bool {
	probability := p.reading.numberOf(fieldP)
	if !methodspan.ValidProbability(probability) {
		p.fault(pInvalid, dropped)
		return false
	}
	threshold, hasThreshold := p.thresholdOf(span)
	if hasThreshold && threshold < thinnedBelow {
		p.fault(thresholdThinned, corrected)
		span.Attributes().PutDouble(methodspan.AttrP, probability*threshold)
		methodspan.SetThreshold(span, methodspan.ThresholdOf(1), nil)
	}
	return true
}

// noticeThinning counts counts and process spans that a sampler let through.
// What it did not let through shows as lost in transit; what is here is exact.
func (p *pass) noticeThinning(span ptrace.Span) {
	if threshold, ok := p.thresholdOf(span); ok && threshold < thinnedBelow {
		p.fault(thresholdThinned, passed)
	}
}
