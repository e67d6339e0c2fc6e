package evidence

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// Capped sums do not show rare calls that became many times as expensive; the number of calls above a threshold does.
// If such calls did not become more frequent, the head's share of them equals its share of all calls.

// tail holds the calls of a method above one threshold, by bucket.
type tail struct {
	over     [2][]float64 // records above the threshold
	exposure [2][]float64 // all records that were searched for them
}

// thresholds is the number of thresholds: Near, 1 and Far times the cap. Near is below the cap, because the cap itself
// can result from rare expensive calls in only one version.
const thresholds = 3

// Near and Far are the factors of the thresholds below and above the cap.
const Near, Far = 0.25, 4

// tails counts the records above the thresholds in the buckets of both versions.
func (z *standard) tails(cells []Cell) []tail {
	out := make([]tail, thresholds)
	buckets := z.x.d.Buckets
	for k := range out {
		for side := range out[k].over {
			out[k].over[side], out[k].exposure[side] = make([]float64, buckets), make([]float64, buckets)
		}
	}
	for i := range cells {
		c := &cells[i]
		if !z.x.counts(c) {
			continue
		}
		side := z.x.d.Instances[c.Instance].Side
		for k, over := range [thresholds][2]float64{{c.Near, c.NearWeight}, {c.Over, c.OverWeight}, {c.Far, c.FarWeight}} {
			t := &out[k]
			t.over[side][c.Bucket] += over[0]
			// Tail samples are kept with probability 1, so slow calls are over-represented among the records. Their
			// exposure is the larger number of calls from which they were selected.
			exposure := c.Records
			if over[1] > 0 {
				exposure = max(exposure, over[0]*c.Weight/over[1])
			}
			t.exposure[side][c.Bucket] += exposure
		}
	}
	return out
}

const (
	// hazard is the assumed increase in calls above a threshold, in percent, if all calls get 1% more expensive.
	hazard = 3
	// leastOver is the minimum number of calls above a threshold for any evidence.
	leastOver = 5
)

// logE returns the logarithm of the e-value that more calls of the head exceed the threshold than a change shared
// by all methods, and hosts and processes with standard deviation sd, can explain.
func (t *tail) logE(sd, shared float64) float64 {
	total := 0.0
	for s := range t.over[Head] {
		total += t.over[Head][s]
	}
	if total < leastOver {
		return 0
	}
	null := 0.05 + hazard*(2*sd+max(0, shared))
	at := func(r float64) float64 { // log likelihood of a log ratio of the rates
		sum := 0.0
		for s := range t.over[Head] {
			h, n := t.over[Head][s], t.over[Head][s]+t.over[Base][s]
			a, b := t.exposure[Head][s], t.exposure[Base][s]
			if n > 0 && a > 0 && b > 0 {
				sum += h*r - n*math.Log((b+a*math.Exp(r))/(a+b))
			}
		}
		return sum
	}
	// The likelihood is concave in r, so under the null hypothesis the most likely r is the bound null if the
	// likelihood still rises there.
	most := at(null)
	for r := null; r > -3; r -= 0.05 {
		most = max(most, at(r))
	}
	const points = 24
	logs := make([]float64, points)
	for i := range logs {
		logs[i] = at(null+6*(float64(i)+0.5)/points) - most
	}
	return stats.LogMean(logs...)
}
