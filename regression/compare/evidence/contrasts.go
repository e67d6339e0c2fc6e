package evidence

import (
	"cmp"
	"math"
	"slices"

	"github.com/corehour/corehour/regression/stats"
)

const (
	// leastContrasts is the minimum number of methods from whose changes the spread of one method is learned.
	leastContrasts = 8
	// clipped is the number of standard deviations to which a change is clipped, so that changed methods do not hide
	// their change. The clipped square of a normal variable is 1/clippedLoss too small.
	clipped     = 2.0
	clippedLoss = 1.09
)

// contrasts returns how much the changes of methods differ where one version has a single process. Its differences from
// other processes, for example because of a busy host, are then in no difference within a version, but most methods have
// not changed, so their changes show them. Spread.Variance is that of a change. between is the variance between processes
// within a version, and priorDF its degrees of freedom. The zero Spread means too few methods.
func contrasts(x *index, methods []compared, s statistic, between, priorDF float64) Spread {
	if min(x.bases, x.heads) > 1 {
		return Spread{}
	}
	prior := between * (1/float64(x.bases) + 1/float64(x.heads))
	type contrast struct{ change, variance float64 }
	var all []contrast
	var votes []stats.Weighted
	for i := range methods {
		c := &methods[i]
		f := &c.fits[s]
		variance := f.within + f.buckets
		if !f.ok || c.basis != Own || !slices.Contains(c.decide, s) || !(variance < leastVote*leastVote) {
			continue
		}
		all = append(all, contrast{f.change, variance})
		votes = append(votes, stats.Weighted{Value: f.change, Weight: 1 / (variance + prior)})
	}
	if len(all) < leastContrasts {
		return Spread{}
	}
	center := stats.WeightedMedian(votes)
	// The median square of a normal variable is 0.455 of its variance.
	excess := make([]float64, len(all))
	for i, c := range all {
		excess[i] = (c.change-center)*(c.change-center)/0.455 - c.variance
	}
	slices.SortFunc(excess, cmp.Compare)
	wide := max(excess[len(excess)/2], prior)
	groups := make([]stats.Heterogeneity, len(all))
	for i, c := range all {
		square := min((c.change-center)*(c.change-center), clipped*clipped*(c.variance+wide))
		groups[i] = stats.Heterogeneity{Q: clippedLoss * square / c.variance, DF: 1, C: 1 / c.variance}
	}
	variance := stats.Pool(groups, prior, priorDF)
	return Spread{variance, math.Min(stats.PooledDF(groups, variance, priorDF), stats.PriorDF(groups, variance))}
}
