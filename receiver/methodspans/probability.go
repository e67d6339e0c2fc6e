package methodspans

import (
	"math"
	"strconv"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// thinnedBelow is the ratio of the probability in the trace state to the one in the attribute
// below which another sampler is assumed. Thresholds of four hex digits can differ by 2^-16.
const thinnedBelow = 1 - 1e-4

// thresholdOf returns the probability by th of a span of the corehour SDK. A th above rv is a
// contradiction and is removed. The trace id is ignored, since the SDK draws rv independently.
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

// callProbability corrects corehour.p of a call. A lower th replaces it, since th stands for
// all sampling stages. It returns false if neither is valid: the call then has no weight.
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

// aggregateProbability corrects corehour.p of an aggregate. The SDK sends aggregates with th:0,
// so another th is a separate sampling stage. It is multiplied into p and reset to th:0, so
// that the next reader does not apply it again.
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

// noticeThinning reports counts and process spans that passed another sampler. Their values are
// exact; dropped ones are counted as missing calls later.
func (p *requestPass) noticeThinning(span ptrace.Span) {
	if threshold, ok := p.thresholdOf(span); ok && threshold < thinnedBelow {
		p.fault(thresholdThinned, passed)
	}
}

// foreignProbability returns the probability in the trace state of a span of another SDK, 0 if
// there is none. R is rv, else the trace id. A th above R cannot have kept the span and is
// removed from a method span.
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

// neverKept is the p of OpenTelemetry's older trace state for probability 0.
const neverKept = 63

// legacyProbability reads p:N, which stands for 2^-N. A span with r below N cannot have been
// kept with it.
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
