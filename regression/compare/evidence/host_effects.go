package evidence

import (
	"cmp"
	"slices"

	"github.com/corehour/corehour/regression/stats"
)

const (
	// leastVoters is the minimum number of methods for the level of one bucket. The median of fewer would be the change
	// of one of them.
	leastVoters = 5
	// leastTogether is the minimum number of methods for the level of an instance.
	leastTogether = 2
	// leastRecords is the minimum number of records for a vote of a method.
	leastRecords = 5
	// saturation is the number of records that limits the weight of a vote: n/(1+n/saturation).
	saturation = 500
)

// hostEffects are the differences between instances of one version that all methods share.
type hostEffects struct {
	level  []float64 // by instance x bucket, centred within each version; nil if unknown
	spread stats.Heterogeneity
	// weights is the sum of the squared shares of the instances, over both versions. Multiplied by the variance between
	// hosts it is the variance of the difference between the versions.
	weights float64
}

// withinVersions estimates the effects that all methods of an instance share, per bucket: for example a slow host or a
// noisy neighbour. It compares each method with its own mean in the same version and centres the result within each
// version, so the result contains no difference between the versions.
func withinVersions(x *index, z *standard) hostEffects {
	z.remove(nil)
	buckets := x.d.Buckets
	cells := make([][]stats.Weighted, len(x.warm))
	whole := make([][]stats.Weighted, len(x.d.Instances))
	leaves := 0
	for m := range x.d.Methods {
		if len(x.callees[m]) == 0 && len(x.of(m)) > 0 {
			leaves++
		}
	}
	for m := range x.d.Methods {
		// With inclusive times, the records of a caller contain those of its callees. A random deviation of one callee
		// would be in both and look like a host effect.
		leaf := len(x.callees[m]) == 0
		if !leaf && leaves >= leastTogether || !z.method(x.of(m)) {
			continue
		}
		g := &z.grids[level]
		var weight, residual [2]float64
		for at, u := range g.expected {
			side := x.d.Instances[at/buckets].Side
			weight[side] += u
			residual[side] += g.residual[at]
		}
		for i, in := range x.d.Instances {
			if !(weight[in.Side] > 0) {
				continue
			}
			own := residual[in.Side] / weight[in.Side]
			var records, u, e float64
			for at := i * buckets; at < (i+1)*buckets; at++ {
				n := z.records[at]
				records += n
				u += g.expected[at]
				e += g.residual[at]
				if n >= leastRecords && leaf {
					cells[at] = append(cells[at], vote(g.residual[at]/g.expected[at]-own, n))
				}
			}
			if records >= leastRecords {
				whole[i] = append(whole[i], vote(e/u-own, records))
			}
		}
	}
	return centred(x, cells, whole)
}

// centred computes the levels from the votes and centres them within each version.
func centred(x *index, cells, whole [][]stats.Weighted) hostEffects {
	buckets := x.d.Buckets
	h := hostEffects{level: make([]float64, len(x.warm))}
	var estimates, variances [2][]float64
	var warm [2][]float64
	var sum, n [2]float64
	for i, in := range x.d.Instances {
		instance, variance := 0.0, 0.0
		if len(whole[i]) >= leastTogether {
			instance, variance = commonVote(whole[i])
			estimates[in.Side] = append(estimates[in.Side], instance)
			variances[in.Side] = append(variances[in.Side], variance)
		}
		count := 0.0
		for at := i * buckets; at < (i+1)*buckets; at++ {
			h.level[at] = instance
			if len(cells[at]) >= leastVoters {
				h.level[at], _ = commonVote(cells[at])
			}
			if x.warm[at] && len(whole[i]) > 0 {
				count++
				sum[in.Side] += h.level[at]
			}
		}
		n[in.Side] += count
		if count > 0 {
			warm[in.Side] = append(warm[in.Side], count)
		}
	}
	for i, in := range x.d.Instances {
		for at := i * buckets; at < (i+1)*buckets; at++ {
			if n[in.Side] > 0 {
				h.level[at] -= sum[in.Side] / n[in.Side]
			}
		}
	}
	for side := range warm {
		h.spread = h.spread.Add(stats.HeterogeneityOf(estimates[side], variances[side]))
		for _, count := range warm[side] {
			h.weights += count * count / (n[side] * n[side])
		}
	}
	if len(estimates[Base])+len(estimates[Head]) == 0 {
		h.level = nil
	}
	return h
}

// commonVote returns the common value of votes and the variance of its error: the weighted median from leastVoters
// votes on, the weighted mean of fewer.
func commonVote(votes []stats.Weighted) (value, variance float64) {
	limitVotes(votes)
	total, squares := 0.0, 0.0
	for _, v := range votes {
		total += v.Weight
		value += v.Weight * v.Value
		squares += v.Weight * v.Weight * (1/v.Weight + betweenPrior*betweenPrior)
	}
	variance = squares / (total * total)
	if len(votes) >= leastVoters {
		return stats.WeightedMedian(votes), 1.6 * variance // variance of a median of normally distributed votes
	}
	return value / total, variance
}

func vote(residual, records float64) stats.Weighted {
	return stats.Weighted{Value: residual, Weight: records / (1 + records/saturation)}
}

// limitVotes limits the weight of each vote to its share if there were only leastVoters votes. Otherwise, in a
// service of few methods, the median would be the change of the most called method, and the others would be
// compared with it.
func limitVotes(votes []stats.Weighted) {
	total, largest := 0.0, 0.0
	for _, v := range votes {
		total += v.Weight
		largest = max(largest, v.Weight)
	}
	voters := min(leastVoters, len(votes))
	if largest*float64(voters) <= total {
		return
	}
	slices.SortFunc(votes, func(a, b stats.Weighted) int { return cmp.Compare(b.Weight, a.Weight) })
	for limited := range voters - 1 { // the heaviest votes get the limit, the others keep their weight
		total -= votes[limited].Weight
		if limit := total / float64(voters-1-limited); votes[limited+1].Weight <= limit || limited == voters-2 {
			for i := range limited + 1 {
				votes[i].Weight = limit
			}
			return
		}
	}
}
