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
	byCaller map[function]float64
	// anybody is the time of methods no caller of which is known at any time.
	anybody map[query.Service]float64
	own     map[function]float64 // part of anybody
}

// function is a method of a service, whatever its version.
type function struct {
	query.Service
	name string
}

func unknownCallers(methods []query.MethodCost, edges []query.CostEdge) *unknown {
	u := &unknown{
		total: map[query.Service]float64{}, byCaller: map[function]float64{},
		anybody: map[query.Service]float64{}, own: map[function]float64{},
	}
	lost := map[function]float64{} // by callee
	for i := range methods {
		if m := &methods[i]; m.OrphanX != 0 {
			lost[function{m.Service, m.Full}] += m.OrphanX
			u.total[m.Service] += m.OrphanX
		}
	}
	known := map[function]bool{} // callees some caller of which is known
	seen := map[[2]function]bool{}
	for _, e := range edges {
		if e.Caller == "" {
			continue
		}
		callee := function{e.Service, e.Callee}
		known[callee] = true
		caller := function{e.Service, e.Caller}
		if pair := [2]function{caller, callee}; caller != callee && !seen[pair] { // of several versions once
			seen[pair] = true
			u.byCaller[caller] += lost[callee]
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

// of is the most by which the self time of a method may be too high. x is its whole
// time: it has paid at most that.
func (u *unknown) of(f function, x float64) float64 {
	return min(u.byCaller[f]+u.anybody[f.Service]-u.own[f], x)
}
