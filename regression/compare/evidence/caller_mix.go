package evidence

// callerMix returns the part of the difference between the plain means that is due to the shares of callers, relative
// to the base's mean (Kitagawa's decomposition, 1955). The rest is due to the cost of calls from each caller.
func callerMix(x *index, cells []Cell) float64 {
	type sums struct{ w, y [2]float64 }
	by := map[int32]*sums{}
	var total, cost [2]float64
	for i := range cells {
		c := &cells[i]
		if !x.counts(c) {
			continue
		}
		side := x.d.Instances[c.Instance].Side
		s := by[c.Caller]
		if s == nil {
			s = &sums{}
			by[c.Caller] = s
		}
		s.w[side] += c.Weight
		s.y[side] += c.Capped
		total[side] += c.Weight
		cost[side] += c.Capped
	}
	if !(total[Base] > 0) || !(total[Head] > 0) || !(cost[Base] > 0) {
		return 0
	}
	mix := 0.0
	for _, s := range by {
		// A caller in only one version has only one mean.
		var mean, n float64
		for side := range s.w {
			if s.w[side] > 0 {
				mean += s.y[side] / s.w[side]
				n++
			}
		}
		mix += (s.w[Head]/total[Head] - s.w[Base]/total[Base]) * mean / n
	}
	return mix / (cost[Base] / total[Base])
}
