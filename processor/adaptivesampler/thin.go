package adaptivesampler

import (
	"math/bits"
	"strings"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/corehour/corehour/internal/methodspan"
)

// agreement is how far a threshold's probability may be from corehour.p:
// a threshold written with four hex digits may be off by 2^-16.
const agreement = 1e-4

// slack is how far above the rate in force a probability may arrive and still be
// that rate: what was rounded on its way is not thinned once more.
const slack = 1e-3

// contradiction is what a trace state does not agree with.
type contradiction uint8

const (
	noContradiction   contradiction = iota
	stateUnreadable                 // it is no trace state
	thresholdAboveR                 // th > R: the span cannot have been kept
	probabilityDiffer               // th says another probability than corehour.p
	contradictionCount
)

// arrival is what is known of the probability of a measurement that arrives.
//
// If settled, R is uniform over [threshold, 2^56) and the probability is that
// of the threshold, so that a higher threshold can go on from the same R:
// keep iff max(T_in, T_here) <= R. Otherwise R says nothing, and a decision of
// its own is drawn with the probability p_here / p_in. A trace id is R only of
// what was sampled by it, which a th of another SDK tells; never without th:
// Go's stock TraceIDRatioBased keeps low trace ids and writes none, so going on
// from them would keep far too few.
type arrival struct {
	p         float64
	threshold sampling.Threshold
	r         sampling.Randomness
	settled   bool
	stale     bool // th must go
}

func arrive(p float64, foreign bool, traceState string, id pcommon.TraceID) (arrival, contradiction) {
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
	case other < p*(1-agreement): // another sampler came after corehour.p was written
		a.p, a.settled = other, known
		return a, probabilityDiffer
	case other*(1-agreement) > p: // th does not know of all stages
		return a, probabilityDiffer
	}
	a.settled = known
	return a, noContradiction
}

// thinned is whether the measurement is kept, and what of it changes.
type thinned struct {
	keep bool
	p    float64
	th   bool                 // the decision's threshold is to be written
	rv   *sampling.Randomness // written next to th
}

// thin decides whether a measurement is kept. It only reads probabilities.
func (a *arrival) thin(d *decision, random func() uint64) thinned {
	if d.rate*(1+slack) >= a.p {
		return thinned{keep: true, p: a.p}
	}
	if a.settled {
		if !sampling.ThresholdGreater(d.threshold, a.threshold) { // equal but for rounding
			return thinned{keep: true, p: a.p}
		}
		return thinned{keep: d.threshold.ShouldSample(a.r), p: d.rate, th: true}
	}
	uniform := float64(random()>>11) / (1 << 53) // in [0, 1)
	if uniform >= d.rate/a.p {
		return thinned{}
	}
	// What was kept has an R above the threshold, and nothing else is known of it.
	low := d.threshold.Unsigned()
	above, _ := bits.Mul64(random(), sampling.MaxAdjustedCount-low)
	rv, err := sampling.UnsignedToRandomness(low + above)
	if err != nil { // impossible: above < 2^56 - low
		return thinned{keep: true, p: d.rate}
	}
	return thinned{keep: true, p: d.rate, th: true, rv: &rv}
}

// plainState writes th, and rv if it is not "", into a trace state that holds
// nothing but them, without parsing it. False for all others.
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
