package cost

import (
	"math"
	"slices"

	"github.com/corehour/corehour/regression/query"
)

// typicalRates returns, for each service, the median over its methods of the share of calls whose CPU is
// timed.
func (b *builder) typicalRates() map[query.Service]float64 {
	rates := map[query.Service][]float64{}
	for i := range b.costs.Methods {
		if m := &b.costs.Methods[i]; m.N > 0 && m.Calls > 0 {
			rates[m.Service] = append(rates[m.Service], min(1, float64(m.CPUMeasured)/m.Calls))
		}
	}
	typical := make(map[query.Service]float64, len(rates))
	for s, all := range rates {
		slices.Sort(all)
		typical[s] = all[len(all)/2]
	}
	return typical
}

// unseen returns an upper bound (99%) on the share of a line's calls that may have called a method outside of
// the line without any of these calls being timed. Their cost would then wrongly remain in the line: few
// calls of an expensive method that others call often and cheaply.
func (b *builder) unseen(s *lineSums) float64 {
	calls, rate := 0.0, 1.0
	for _, m := range s.sampled {
		calls += m.calls
	}
	for service := range s.services {
		rate = min(rate, b.rates[service])
	}
	if rate >= 1 {
		return 0
	}
	return min(1, math.Log(1-boundLevel)/math.Log1p(-rate)/calls)
}
