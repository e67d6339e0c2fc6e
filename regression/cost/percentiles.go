package cost

import (
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
)

// setPercentiles sets the percentiles of methods.
func (r *Table) setPercentiles(spreads []query.Spread) {
	type key struct {
		query.MethodName
		metric query.Metric
	}
	of := make(map[key]methodspan.Histogram, len(spreads))
	for _, s := range spreads {
		of[key{s.MethodName, s.Metric}] = s.Bins
	}
	for i := range r.Methods {
		l := &r.Methods[i]
		name := query.MethodName{Service: l.Service, Class: l.Class, Method: l.Method}
		l.Wall = percentilesOf(of[key{name, query.Wall}])
		l.CPU = percentilesOf(of[key{name, query.CPU}])
		if l.Wall.below(l.CPU) { // take both from the calls that have both
			l.Wall = percentilesOf(of[key{name, query.WallOfBoth}])
		}
	}
}

// below reports whether any percentile of p is below that of o.
func (p *Percentiles) below(o *Percentiles) bool {
	return p != nil && o != nil && (p.P50 < o.P50 || p.P95 < o.P95 || p.P99 < o.P99)
}

// percentilesOf computes percentiles from weights sorted by bin, or returns nil without weights.
func percentilesOf(h methodspan.Histogram) *Percentiles {
	total := h.Total()
	if !(total > 0) {
		return nil
	}
	at := func(share float64) float64 {
		sum := 0.0
		for _, b := range h {
			if sum += b.N; sum >= share*total {
				return methodspan.BinValue(b.Bin)
			}
		}
		return methodspan.BinValue(h[len(h)-1].Bin)
	}
	return &Percentiles{P50: at(0.50), P95: at(0.95), P99: at(0.99)}
}
