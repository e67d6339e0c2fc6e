package methodspans

import (
	"math"
	"strconv"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// thinnedBelow is how much lower the probability in the trace state must be
// than the one in the attribute before another sampler is assumed. A threshold written with four hex digits may differ by 2^-16.
const thinnedBelow = 1 - 1e-4

// thresholdOf reads th of a span that is ours. A th above rv contradicts itself
// and is removed. The trace id says nothing: our SDK draws rv on its own.
func (p *requestPass) thresholdOf(span ptrace.Span) (probability float64, ok bool) {
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
func (p *requestPass) callProbability(span ptrace.Span) bool {
	probability := p.parsed.Number(methodspan.FieldP)
	threshold, hasThreshold := p.thresholdOf(span)
	switch {
	case !validProbability(probability):
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
func (p *requestPass) aggregateProbability(span ptrace.Span) bool {
	probability := p.parsed.Number(methodspan.FieldP)
	if !validProbability(probability) {
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
func (p *requestPass) noticeThinning(span ptrace.Span) {
	if threshold, ok := p.thresholdOf(span); ok && threshold < thinnedBelow {
		p.fault(thresholdThinned, passed)
	}
}

// foreignProbability reads p from the trace state of another SDK's span, where R is rv or else
// the trace id; 0 if it does not say. A th above R cannot have kept the span: it is removed from a
// method span.
func (p *requestPass) foreignProbability(f foreignSpan) (probability float64, basis basis) {
	state := f.span.TraceState().AsRaw()
	if state == "" {
		return 0, unknown
	}
	ot, err := methodspan.ReadOT(state)
	if err != nil {
		if f.method {
			p.fault(traceStateInvalid, passed)
		}
		return 0, unknown
	}
	if !ot.HasThreshold {
		return p.legacyProbability(f, ot)
	}
	if !ot.HasRandomness {
		ot.Randomness = sampling.TraceIDToRandomness(f.span.TraceID())
	}
	if !ot.Threshold.ShouldSample(ot.Randomness) {
		if f.method {
			p.fault(thresholdInconsistent, corrected)
			methodspan.ClearThreshold(f.span)
		}
		return 0, unknown
	}
	return ot.Threshold.Probability(), threshold
}

// neverKept is p of the older trace state for a span that no probability kept.
const neverKept = 63

// legacyProbability reads p:N, which stands for 2^-N. A span whose r is less than that cannot
// have been kept with it.
func (p *requestPass) legacyProbability(f foreignSpan, ot methodspan.OT) (probability float64, basis basis) {
	if ot.LegacyP == "" {
		return 0, unknown
	}
	exponent, err := strconv.ParseUint(ot.LegacyP, 10, 8)
	r, errR := uint64(neverKept), error(nil)
	if ot.LegacyR != "" {
		r, errR = strconv.ParseUint(ot.LegacyR, 10, 8)
	}
	switch {
	case err != nil || errR != nil || exponent > neverKept || exponent != neverKept && exponent > r:
		if f.method {
			p.fault(traceStateInvalid, passed)
		}
		return 0, unknown
	case exponent == neverKept:
		return 0, unknown
	}
	return math.Ldexp(1, -int(exponent)), legacy
}
