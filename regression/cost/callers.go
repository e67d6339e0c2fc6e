package cost

import (
	"github.com/corehour/corehour/regression/query"
)

// unknownTime holds the time of calls whose caller is unknown and cannot be inferred. That time is subtracted
// from no self cost, so the self costs of the actual callers are too high by it.
type unknownTime struct {
	total map[query.Service]float64
	// byCaller is the time that may belong to a caller: that of the methods it is known to have called at
	// other times.
	byCaller map[function]float64
	// anybody is the time of methods without any known caller.
	anybody map[query.Service]float64
	own     map[function]float64 // part of anybody
}

// function is a method of a service, in all versions.
type function struct {
	query.Service
	name string
}

func unknownCallers(methods []query.MethodCost, edges []query.CostEdge) *unknownTime {
	u := &unknownTime{
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
	known := map[function]bool{} // callees with at least one known caller
	seen := map[[2]function]bool{}
	for _, e := range edges {
		if e.Caller == "" {
			continue
		}
		callee := function{e.Service, e.Callee}
		known[callee] = true
		caller := function{e.Service, e.Caller}
		if pair := [2]function{caller, callee}; caller != callee && !seen[pair] { // count a pair once for all versions
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

// maxExcess returns an upper bound on the excess of the self time of f. x is the whole time of f, which the time of
// its calls cannot exceed.
func (u *unknownTime) maxExcess(f function, x float64) float64 {
	return min(u.byCaller[f]+u.anybody[f.Service]-u.own[f], x)
}
