package judge

import (
	"cmp"
	"math"
	"slices"

	"github.com/corehour/corehour/regression/stats"
)

const (
	// leastMethods is the number of methods that a common mode is made of: the
	// median of fewer would be the change of one of them.
	leastMethods = 5
	// leastRecords a method needs to have a say in it.
	leastRecords = 5
	// saturation is the number of records above which a method has no more to say.
	saturation = 500
)

// commonMode is what moves all methods of an instance in a slot: a slow host, a
// noisy neighbour, a runtime that collects garbage. It is the weighted median over
// methods of the log residual, by instance and slot; where a slot has too few
// methods, that of the instance over all slots; else 0. Methods that are known to
// differ between the versions for reasons of their own are left out.
func commonMode(x *index, z *standard, leaveOut []bool) []float64 {
	z.remove(nil)
	slots := x.d.Slots
	cells := make([][]stats.Weighted, len(x.warm))
	whole := make([][]stats.Weighted, len(x.d.Instances))
	for m := range x.d.Methods {
		if leaveOut != nil && leaveOut[m] || !z.method(x.of(m)) {
			continue
		}
		g := &z.grids[level]
		for i := range x.d.Instances {
			records, weight, residual := 0.0, 0.0, 0.0
			for at := i * slots; at < (i+1)*slots; at++ {
				n := z.records[at]
				records += n
				weight += g.expected[at]
				residual += g.residual[at]
				if n >= leastRecords {
					cells[at] = append(cells[at], vote(g.residual[at]/g.expected[at], n))
				}
			}
			if records >= leastRecords {
				whole[i] = append(whole[i], vote(residual/weight, records))
			}
		}
	}
	f := make([]float64, len(x.warm))
	for i := range whole {
		instance := 0.0
		if len(whole[i]) >= leastMethods {
			limitVotes(whole[i])
			instance = stats.WeightedMedian(whole[i])
		}
		for at := i * slots; at < (i+1)*slots; at++ {
			f[at] = instance
			if len(cells[at]) >= leastMethods {
				limitVotes(cells[at])
				f[at] = stats.WeightedMedian(cells[at])
			}
		}
	}
	return f
}

func vote(residual, records float64) stats.Weighted {
	return stats.Weighted{Value: residual, Weight: records / (1 + records/saturation)}
}

// limitVotes lets no method have more to say than one of the least number of methods
// would: in a service of few methods the median would be the change of the one that
// is called most, and the others would be judged by it.
func limitVotes(votes []stats.Weighted) {
	total, largest := 0.0, 0.0
	for _, v := range votes {
		total += v.Weight
		largest = max(largest, v.Weight)
	}
	if largest*leastMethods <= total {
		return
	}
	slices.SortFunc(votes, func(a, b stats.Weighted) int { return cmp.Compare(b.Weight, a.Weight) })
	for limited := range leastMethods - 1 { // the heaviest so many have a limit, the rest their own weight
		total -= votes[limited].Weight
		if limit := total / float64(leastMethods-1-limited); votes[limited+1].Weight <= limit || limited == leastMethods-2 {
			for i := range limited + 1 {
				votes[i].Weight = limit
			}
			return
		}
	}
}

// ownReasons finds methods that moved beyond doubt beside the common mode. In a
// service of few methods they draw the median after them. Nil if there are none,
// or so many that nothing is left to be common.
func ownReasons(methods []compared) []bool {
	const beyondDoubt = 4 // standard errors
	out, n := make([]bool, len(methods)), 0
	for i := range methods {
		c := &methods[i]
		if c.verdict.State.Judged() && math.Abs(c.fits[cost].change) > beyondDoubt*math.Sqrt(c.spread) {
			out[i] = true
			n++
		}
	}
	if n == 0 || 2*n > len(methods) {
		return nil
	}
	return out
}
