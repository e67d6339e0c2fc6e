package evidence

import (
	"math"
	"time"
)

// sameLoad is the absolute logarithm of the ratio of calls per process up to which the load counts as unchanged.
const sameLoad = 0.25

// measureLoad counts calls, process-buckets (the sum over processes of the buckets in which they ran) and restarts of
// each version.
func (x *index) measureLoad() {
	seen := make([][2]int, len(x.d.Instances)) // first bucket and the bucket after the last
	ends := make([]int, len(x.d.Instances))    // the bucket after the last, with warm-up
	for i := range x.cells {
		c := &x.cells[i]
		ends[c.Instance] = max(ends[c.Instance], int(c.Bucket)+1)
		if !x.counts(c) {
			continue
		}
		s := &seen[c.Instance]
		if bucket := int(c.Bucket); s[1] == 0 {
			*s = [2]int{bucket, bucket + 1}
		} else {
			*s = [2]int{min(s[0], bucket), max(s[1], bucket+1)}
		}
		x.allCalls[x.d.Instances[c.Instance].Side] += c.Weight
	}
	for i, in := range x.d.Instances {
		x.processBuckets[in.Side] += float64(max(1, in.Processes) * (seen[i][1] - seen[i][0]))
	}
	var last [2]time.Time
	for _, in := range x.d.Instances {
		if in.Started.After(last[in.Side]) {
			last[in.Side] = in.Started
		}
	}
	for i, in := range x.d.Instances {
		end := x.d.Begin.Add(x.d.Bucket * time.Duration(ends[i]))
		if !in.Started.IsZero() && end.Sub(in.Started) < mostWarmUp && end.Before(last[in.Side].Add(x.d.Bucket)) {
			x.restarted[in.Side] += max(1, in.Processes)
		}
	}
}

// loadOf returns the logarithm of calls per process and bucket, head over base. calls are the calls by version.
func (x *index) loadOf(calls [2]float64) float64 {
	if x.d.Overlap == PreviousDays { // the base's buckets contain several days
		return 0
	}
	head, base := calls[Head]/x.processBuckets[Head], calls[Base]/x.processBuckets[Base]
	if !(head > 0) || !(base > 0) || math.IsInf(head, 1) || math.IsInf(base, 1) {
		return 0
	}
	return math.Log(head / base)
}

func (x *index) load() float64 { return x.loadOf(x.allCalls) }
