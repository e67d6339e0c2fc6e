package methodspans

import (
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const (
	// leastTraces are needed for an estimate: their largest number is within 2% of the ratio.
	leastTraces = 50
	// estimateFor is how long traces are collected for one estimate, and mostTraces how many. A
	// ratio that was lowered shows after that at the latest, one that was raised at once.
	estimateFor = time.Minute
	mostTraces  = 500 // the estimate's standard error is 0.2%
	// exceededBy is by how many standard errors a trace must be above the estimate before it to
	// contradict that; the odds against it are e^10.
	exceededBy = 10
	// leastEvidence is the natural logarithm of the odds against all numbers being that small
	// by chance: one in 10^9, for six families tested.
	leastEvidence = 20.7 + 1.8
	// leastRatio distinguishes a ratio from ids that are counted up.
	leastRatio = 1e-5
	// newWithin is how many standard errors the mean may be off the middle for a new estimate, and
	// heldWithin for one that was made before: with each request it is asked whether that still holds, and
	// of 4, traces of one ratio would contradict it on the way to one estimate in 2,000.
	newWithin, heldWithin = 4, 5
)

// ratioEstimate estimates a sampling ratio from the ids of traces that were kept: below a
// ratio all numbers of the sampler's family are, as uniform as without it. Traces of several
// ratios are not uniform, and have no estimate.
type ratioEstimate struct {
	current, previous keptTraces
}

// keptTraces sums up what was kept since began.
type keptTraces struct {
	began   time.Time
	n       float64
	largest [familyCount]float64
	sum     [familyCount]float64
}

// observe adds a trace whose probability is not known otherwise.
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

// ratio returns the ratio by which traces were kept, false if that is not known or all may have been kept. The
// estimate before holds until there is another, or traces contradict it.
func (e *ratioEstimate) ratio() (float64, bool) {
	if _, p, ok := e.current.ratio(newWithin); ok {
		return p, true
	}
	f, p, ok := e.previous.ratio(heldWithin)
	return p, ok && e.current.largest[f] < p*(1+exceededBy/e.previous.n) && e.current.uniform(f, p, heldWithin)
}

// uniform reports whether numbers may be uniform below a ratio: their mean is within so many standard
// errors.
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
