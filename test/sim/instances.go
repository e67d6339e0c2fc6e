package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// instance contains the true parameters of one process.
type instance struct {
	side     evidence.Side
	from, to int // buckets
	factor   [Looks]float64
	warm     float64 // minutes of warm-up, 0 for a process that is warm from the start
}

// rollout draws the instances of a canary roll-out: some canaries next to the old version, then half of all.
func rollout(r *rand.Rand) []instance {
	const half, all = canaryMinutes / bucketMinutes, Looks
	var out []instance
	add := func(n int, side evidence.Side, from, to int, warming bool) {
		out = append(out, start(r, n, side, from, to, warming)...)
	}
	replaced := instancesOld/2 - canaries
	add(instancesOld/2, evidence.Base, 0, all, false)
	add(replaced, evidence.Base, 0, half, false)
	add(canaries, evidence.Head, 0, all, true)
	add(replaced, evidence.Head, half, all, true)
	return out
}

// replaced draws all instances of two versions that run one after the other.
func replaced(r *rand.Rand) []instance {
	return append(start(r, instancesOld, evidence.Base, 0, Looks, false), start(r, instancesOld, evidence.Head, 0, Looks, true)...)
}

// start draws n instances that run in the buckets from to to.
func start(r *rand.Rand, n int, side evidence.Side, from, to int, warming bool) (out []instance) {
	for range n {
		i := instance{side: side, from: from, to: to}
		base := ofInstance * r.NormFloat64()
		if r.Float64() < slowInstances {
			base += math.Log(slowFactor)
		}
		noise := r.NormFloat64()
		for s := range i.factor {
			i.factor[s] = base + ofInstanceBucket*noise
			noise = bucketCorrelation*noise + math.Sqrt(1-bucketCorrelation*bucketCorrelation)*r.NormFloat64()
		}
		if warming {
			i.warm = warmUpLow + (warmUpHigh-warmUpLow)*r.Float64()
		}
		out = append(out, i)
	}
	return out
}

// cold returns the average warm-up overhead of an instance in a bucket, as a share of the overhead at its start.
// The overhead falls linearly to zero.
func (i *instance) cold(bucket int) float64 {
	if i.warm == 0 {
		return 0
	}
	a := float64(bucket-i.from) * bucketMinutes
	b := math.Min(a+bucketMinutes, i.warm)
	if b <= a {
		return 0
	}
	return (b - a) / bucketMinutes * (1 - (a+b)/(2*i.warm))
}

// described returns the facts about the instances that the judge can know. before is the number of buckets before
// the head's first.
func described(instances []instance, before int) []evidence.Instance {
	out := make([]evidence.Instance, len(instances))
	for n, i := range instances {
		out[n] = evidence.Instance{ID: fmt.Sprintf("i%02d", n), Side: i.side}
		if i.warm > 0 {
			out[n].Started = begin.Add(time.Duration(before+i.from) * bucketMinutes * time.Minute)
		}
	}
	return out
}
