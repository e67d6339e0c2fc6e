package methodspans

import (
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const (
	// leastTraces is the minimum number of traces for an estimate: their largest number is
	// within 2% of the ratio.
	leastTraces = 50
	// estimateFor is the time for which traces are collected for one estimate, and mostTraces
	// their number. A lowered ratio is noticed after that, a raised one at once.
	estimateFor = time.Minute
	mostTraces  = 500 // the estimate's standard error is 0.2%
	// exceededBy is the number of standard errors by which a trace must exceed the previous
	// estimate to contradict it; the odds against it are e^10.
	exceededBy = 10
	// leastEvidence is the natural logarithm of the required odds against all numbers being
	// that small by chance: one in 10^9, for six tested families.
	leastEvidence = 20.7 + 1.8
	// leastRatio is the minimum ratio: ids that count up look like a smaller one.
	leastRatio = 1e-5
	// newWithin is the number of standard errors by which the mean can differ from the middle
	// for a new estimate, heldWithin for a previous one. The latter is checked with each request:
	// with 4, traces of one ratio would contradict one estimate in 2,000.
	newWithin, heldWithin = 4, 5
)

// ratioEstimate estimates a sampling ratio from the ids of kept traces: the numbers of the
// sampler's family are uniform below the ratio. Traces of several ratios are not uniform and
// yield no estimate.
type ratioEstimate struct {
	current, previous keptTraces
}

// keptTraces summarises the traces kept since began.
type keptTraces struct {
	began   time.Time
	n       float64
	largest [familyCount]float64
	sum     [familyCount]float64
}

// observe adds a kept trace.
func (e *ratioEstimate) observe(id pcommon.TraceID, now time.Time) {
	if n := e.current.n; n >= mostTraces || n >= leastTraces && now.Sub(e.current.began) >= estimateFor {
		e.previous, e.current = e.current, keptTraces{}
	}
	k := &e.current
	if k.n == 0 {
		k.began = now
	}
	k.n++
	for f := range familyCount {
		x := f.number(id)
		k.largest[f] = max(k.largest[f], x)
		k.sum[f] += x
	}
}

// ratio returns the estimated ratio, false if there is none or all traces may have been kept.
// The previous estimate holds until there is a new one or traces contradict it.
func (e *ratioEstimate) ratio() (float64, bool) {
	if _, p, ok := e.current.ratio(newWithin); ok {
		return p, true
	}
	f, p, ok := e.previous.ratio(heldWithin)
	return p, ok && e.current.largest[f] < p*(1+exceededBy/e.previous.n) && e.current.uniform(f, p, heldWithin)
}

// uniform reports whether the numbers can be uniform below ratio: their mean is at most within
// standard errors off the middle.
func (k *keptTraces) uniform(f family, ratio, within float64) bool {
	return k.n == 0 || math.Abs(k.sum[f]/k.n/ratio-0.5) <= within/math.Sqrt(12*k.n)
}

func (k *keptTraces) ratio(within float64) (of family, p float64, ok bool) {
	if k.n < leastTraces {
		return 0, 0, false
	}
	for f := range familyCount {
		ratio := k.largest[f] * (k.n + 1) / k.n
		switch {
		case ratio < leastRatio, -k.n*math.Log(k.largest[f]) < leastEvidence:
		case !k.uniform(f, ratio, within):
		case !ok || ratio < p:
			of, p, ok = f, ratio, true
		}
	}
	return of, p, ok
}
