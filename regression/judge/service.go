package judge

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// wholeService compares the common mode of the versions: what moves all methods
// alike is removed from each of them and would be seen by none. Instances are the
// sample. False where there are too few.
func wholeService(x *index, common []float64) (change, variance float64, ok bool) {
	slots := x.d.Slots
	base := make([]float64, slots)
	for s := range slots {
		n := 0.0
		for i, in := range x.d.Instances {
			if at := i*slots + s; in.Side == Base && x.warm[at] && common[at] != 0 {
				base[s] += common[at]
				n++
			}
		}
		if n > 0 {
			base[s] /= n
		}
	}
	var n, mean, squares [2]float64
	var all [2][]float64
	for i, in := range x.d.Instances {
		sum, k := 0.0, 0.0
		for s := range slots {
			if at := i*slots + s; x.warm[at] && common[at] != 0 {
				sum += common[at] - base[s]
				k++
			}
		}
		if k > 0 {
			all[in.Side] = append(all[in.Side], sum/k)
			n[in.Side]++
			mean[in.Side] += sum / k
		}
	}
	df := n[Base] + n[Head] - 2
	if min(n[Base], n[Head]) < 2 || df < 3 {
		return 0, 0, false
	}
	for side := range all {
		mean[side] /= n[side]
		for _, y := range all[side] {
			squares[side] += (y - mean[side]) * (y - mean[side])
		}
	}
	pooled := (squares[Base] + squares[Head]) / df * (df / (df - 2)) // Student's t has that variance
	return mean[Head] - mean[Base], pooled * (1/n[Base] + 1/n[Head]), true
}

// judgeService is the verdict on all methods together.
func judgeService(x *index, common []float64, o Options) *compared {
	c := &compared{verdict: Verdict{Method: "whole service", State: FewSlots}}
	change, variance, ok := wholeService(x, common)
	if !ok {
		return c
	}
	v := &c.verdict
	v.State = NotProven
	c.spread = o.Inflation * variance
	c.logE = stats.LogE(change, c.spread, margin(o), scales)
	v.LogE, v.EValue = c.logE, math.Exp(min(c.logE, 700))
	v.Change = shareOf(change)
	half := 1.959964 * math.Sqrt(c.spread)
	v.Interval = [2]float64{shareOf(change - half), shareOf(change + half)}
	return c
}
