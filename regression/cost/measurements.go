package cost

import (
	"math"

	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/stats"
)

// measurements are those of one method, of all its versions.
type measurements struct {
	query.Profile // added up
	versions      []stats.Clusters
}

func (s *measurements) add(p *query.Profile) {
	s.versions = append(s.versions, stats.Clusters{Count: p.Clusters, N: p.N, X: p.SelfX, NN: p.NN, NX: p.NS, XX: p.SS})
	if len(s.versions) == 1 {
		s.Profile = *p
		return
	}
	s.N += p.N
	s.X += p.X
	s.SelfX += p.SelfX
	s.OuterX += p.OuterX
	s.OuterUSD += p.OuterUSD
	s.SelfUSD += p.SelfUSD
	s.UnpricedX += p.UnpricedX
	s.OrphanX += p.OrphanX
}

// self is the total of the self time. Errors are taken around the mean of each
// version: that versions differ is no uncertainty. Versions with too little to
// tell their own error are taken together.
func (s *measurements) self() (stats.Estimate, bool) {
	total := stats.Estimate{Value: s.SelfX}
	variance := 0.0
	var all, small stats.Clusters
	for _, v := range s.versions {
		all.Add(v)
		if e, ok := v.Total(); ok {
			variance += e.SE * e.SE
			total.DF += e.DF
		} else {
			small.Add(v)
		}
	}
	if small.Count > 0 {
		e, ok := small.Total()
		if !ok {
			return all.Total()
		}
		variance += e.SE * e.SE
		total.DF += e.DF
	}
	total.SE = math.Sqrt(variance)
	return total, total.DF > 0
}
