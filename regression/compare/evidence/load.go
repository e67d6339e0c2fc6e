package evidence

import "math"

// sameLoad is the logarithm of a ratio of calls per process that is no other load.
const sameLoad = 0.25

// measureLoad finds for how long the processes of each version ran, in buckets.
func (x *index) measureLoad() {
	seen := make([][2]int, len(x.d.Instances)) // first bucket and one beyond the last
	for i := range x.cells {
		c := &x.cells[i]
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
}

// loadOf is the logarithm of the calls of a head's process in a bucket over those of a
// base's, of calls by version.
func (x *index) loadOf(calls [2]float64) float64 {
	if x.d.Overlap == PreviousDays { // its buckets are those of several days
		return 0
	}
	head, base := calls[Head]/x.processBuckets[Head], calls[Base]/x.processBuckets[Base]
	if !(head > 0) || !(base > 0) || math.IsInf(head, 1) || math.IsInf(base, 1) {
		return 0
	}
	return math.Log(head / base)
}

func (x *index) load() float64 { return x.loadOf(x.allCalls) }
