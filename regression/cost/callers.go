package cost

import (
	"github.com/corehour/corehour/regression/query"
)

// unknown is the time spent in calls whose caller is not known and can't be
// inferred. Nobody's self cost is reduced by it, so the self cost of whoever
// called is too high by as much.
type unknown struct {
	total map[query.Service]float64
	// byCaller is what may belong to one caller: the time of methods that it is
	// known to have called at other times.
	byCaller map[caller]float64
	// anybody is the time of methods no caller of which is known at any time.
	anybody map[query.Service]float64
	own     map[caller]float64 // part of anybody
}

type caller struct {
	query.Service
	name string
}

func unknownCallers(profiles []query.Profile, edges []query.Edge) *unknown {
	u := &unknown{
		total: map[query.Service]float64{}, byCaller: map[caller]float64{},
		anybody: map[query.Service]float64{}, own: map[caller]float64{},
	}
	lost := map[caller]float64{} // by callee
	for _, p := range profiles {
		if p.OrphanX != 0 {
			lost[caller{p.Service, p.Full}] += p.OrphanX
			u.total[p.Service] += p.OrphanX
		}
	}
	known := map[caller]bool{} // callees some caller of which is known
	for _, e := range edges {
		if e.Caller != "" {
			known[caller{e.Service, e.Callee}] = true
		}
	}
	for _, e := range edges {
		if e.Caller != "" && e.Caller != e.Callee {
			u.byCaller[caller{e.Service, e.Caller}] += lost[caller{e.Service, e.Callee}]
		}
	}
	for callee, x := range lost {
		if !known[callee] {
			u.anybody[callee.Service] += x
			u.own[callee] = x
		}
	}
	return u
}

// of is the most by which the self time of a method may be too high.
func (u *unknown) of(p *measurements) float64 {
	c := caller{p.Service, p.Full}
	// A method has paid at most what it took.
	return min(u.byCaller[c]+u.anybody[p.Service]-u.own[c], p.X)
}
