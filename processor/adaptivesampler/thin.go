package adaptivesampler

import (
	"math/bits"
	"strings"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/corehour/corehour/internal/methodspan"
)

// agreement is the relative tolerance between a threshold's probability and corehour.p. A threshold with four hex
// digits can be off by 2^-16.
const agreement = 1e-4

// slack is the relative excess over the rate in force with which a probability can arrive and still count as that
// rate. A value that was rounded on its way is not thinned again.
const slack = 1e-3

// contradiction is the kind of inconsistency of a trace state.
type contradiction uint8

const (
	noContradiction   contradiction = iota
	stateUnreadable                 // the trace state cannot be parsed
	thresholdAboveR                 // th > R: the span cannot have been kept
	probabilityDiffer               // the probability of th differs from corehour.p
	contradictionCount
)

// arrival describes the sampling probability of an arriving measurement.
//
// If settled, R is uniform over [threshold, 2^56) and the probability is that of the threshold. A higher threshold
// can then reuse R: keep iff max(T_in, T_here) <= R. Otherwise R cannot be used, and an independent draw keeps the
// measurement with probability p_here / p_in. A trace id is used as R only if the span was sampled by it, which a
// th of another SDK shows. Without th it is never used: Go's stock TraceIDRatioBased keeps low trace ids and writes
// no th, so reusing such ids would keep far too few spans.
type arrival struct {
	p         float64
	threshold sampling.Threshold
	r         sampling.Randomness
	settled   bool
	stale     bool // th must be removed
}

func arrivalOf(p float64, foreign bool, traceState string, id pcommon.TraceID) (arrival, contradiction) {
	a := arrival{p: p}
	if traceState == "" {
		return a, noContradiction
	}
	ot, err := methodspan.ReadOT(traceState)
	if err != nil {
		return a, stateUnreadable
	}
	if !ot.HasThreshold {
		return a, noContradiction
	}
	known := ot.HasRandomness
	a.threshold, a.r = ot.Threshold, ot.Randomness
	if !known && foreign {
		known, a.r = true, sampling.TraceIDToRandomness(id)
	}
	if known && !a.threshold.ShouldSample(a.r) {
		a.stale = true
		return a, thresholdAboveR
	}
	switch other := a.threshold.Probability(); {
	case other < p*(1-agreement): // another sampler lowered the probability after corehour.p was written
		a.p, a.settled = other, known
		return a, probabilityDiffer
	case other*(1-agreement) > p: // th does not include all sampling stages
		return a, probabilityDiffer
	}
	a.settled = known
	return a, noContradiction
}

// thinned is the result of thin: whether the measurement is kept, and the changes to it.
type thinned struct {
	keep bool
	p    float64
	th   bool                 // write the decision's threshold
	rv   *sampling.Randomness // if not nil, written next to th
}

// thin decides whether a measurement is kept. It uses only probabilities, never measured values.
func (a *arrival) thin(d *decision, random func() uint64) thinned {
	if d.rate*(1+slack) >= a.p {
		return thinned{keep: true, p: a.p}
	}
	if a.settled {
		if !sampling.ThresholdGreater(d.threshold, a.threshold) { // equal except for rounding
			return thinned{keep: true, p: a.p}
		}
		return thinned{keep: d.threshold.ShouldSample(a.r), p: d.rate, th: true}
	}
	uniform := float64(random()>>11) / (1 << 53) // in [0, 1)
	if uniform >= d.rate/a.p {
		return thinned{}
	}
	// R of a kept measurement is above the threshold and otherwise unknown, so it is drawn at random.
	low := d.threshold.Unsigned()
	above, _ := bits.Mul64(random(), sampling.MaxAdjustedCount-low)
	rv, err := sampling.UnsignedToRandomness(low + above)
	if err != nil { // impossible: above < 2^56 - low
		return thinned{keep: true, p: d.rate}
	}
	return thinned{keep: true, p: d.rate, th: true, rv: &rv}
}

// plainState writes th, and rv if it is not "", into a trace state that contains nothing else, without parsing
// it. It returns false for all other trace states.
func plainState(state, th, rv string) (string, bool) {
	if state != "" {
		own, ok := strings.CutPrefix(state, "ot=th:")
		if !ok || strings.IndexByte(own, ',') >= 0 {
			return "", false
		}
		_, tail, more := strings.Cut(own, ";")
		if more && (!strings.HasPrefix(tail, "rv:") || len(tail) != len("rv:")+sampling.NumHexDigits) {
			return "", false
		}
		if more && rv == "" {
			rv = tail[len("rv:"):]
		}
	}
	if rv == "" {
		return "ot=th:" + th, true
	}
	return "ot=th:" + th + ";rv:" + rv, true
}
