package evidence

import (
	"cmp"
	"slices"

	"github.com/corehour/corehour/regression/stats"
)

const (
	// leastVoters is the number of methods that the level of one bucket is made of: the
	// median of fewer would be the change of one of them.
	leastVoters = 5
	// leastTogether is the number of methods that an instance's level is made of.
	leastTogether = 2
	// leastRecords a method needs to have a vote.
	leastRecords = 5
	// saturation is the number of records above which a vote weighs no more.
	saturation = 500
)

// hostEffects are what instances of one version differ by in all methods alike.
type hostEffects struct {
	level  []float64 // by instance x bucket, centred within each version; nil if unknown
	spread stats.Heterogeneity
	// weights is the sum of squared shares of the instances, both versions added: the
	// variance of the difference between the versions per variance of a host.
	weights float64
}

// withinVersions finds what all methods of an instance share, bucket by bucket: a slow host,
// a noisy neighbour. Each method is compared with its own mean in the same version, so
// what a version changed has no part in it, and the result is centred within each
// version: it says nothing about the versions.
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
		// Where whole requests are measured, a caller's records hold those of its callees:
		// what chance did to one is in both, and looks like a host.
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

// centred makes the levels of the votes and centres them within each version.
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

// commonVote is what votes say in common, and the variance of its error: the median of
// five and more, the mean of fewer.
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
		return stats.WeightedMedian(votes), 1.6 * variance // the median's, of normal votes
	}
	return value / total, variance
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
	voters := min(leastVoters, len(votes))
	if largest*float64(voters) <= total {
		return
	}
	slices.SortFunc(votes, func(a, b stats.Weighted) int { return cmp.Compare(b.Weight, a.Weight) })
	for limited := range voters - 1 { // the heaviest so many have a limit, the rest their own weight
		total -= votes[limited].Weight
		if limit := total / float64(voters-1-limited); votes[limited+1].Weight <= limit || limited == voters-2 {
			for i := range limited + 1 {
				votes[i].Weight = limit
			}
			return
		}
	}
}
