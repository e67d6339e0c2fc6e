package evidence

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// Capped sums do not show rare calls that became many times as expensive. The number of
// calls above a threshold does: of those, the head's share is what its share of all calls
// makes it, unless they became more frequent.

// tail is the calls of a method above one threshold, by bucket.
type tail struct {
	over     [2][]float64 // records above it
	exposure [2][]float64 // records that could have been
}

// thresholds are how often the cap a call must exceed to be counted: a quarter of it, as
// calls that are rare and expensive in one version alone may be what the cap is made of,
// once, and Far times.
const thresholds = 3

// Near and Far are the factors below and above the cap of calls that cells count.
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
			// Calls that were kept because they are slow are more than their share of
			// records: they were looked for among so many more.
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
	// hazard is how many percent more calls exceed a threshold where all are a percent
	// more expensive.
	hazard = 3
	// leastOver is the number of calls above a threshold that can be evidence.
	leastOver = 5
)

// logE is the evidence that the head has more calls above the threshold, beyond what a
// change that all methods share and hosts and processes that differ by a standard
// deviation sd can do.
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
	// The likelihood is concave in r: the most likely value of the null hypothesis is
	// its bound where it rises there.
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
