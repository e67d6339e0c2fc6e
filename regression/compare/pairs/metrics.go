package pairs

import (
	"context"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/regression/query"
)

// assembleAll reads one comparison by CPU time, and by wall time if some methods have no CPU time.
func assembleAll(ctx context.Context, w *query.Warehouse, p Pair, o Options, costs probecost.Table) ([]*preparedPair, error) {
	first, err := assemble(ctx, w, p, metricOf(p, o), o, costs)
	if err != nil || first.metric == query.Wall || o.Metric != "" || !first.lacksCPU() {
		return []*preparedPair{first}, err
	}
	second, err := assemble(ctx, w, p, query.Wall, o, costs)
	if err != nil {
		return nil, err
	}
	byCPU := map[string]bool{}
	first.deployment.Judge = make([]bool, len(first.names))
	for m, name := range first.deployment.Methods {
		first.deployment.Judge[m] = !first.wallOnly(m)
		byCPU[name] = first.deployment.Judge[m]
	}
	second.deployment.Judge = make([]bool, len(second.names))
	for m, name := range second.deployment.Methods {
		second.deployment.Judge[m] = !byCPU[name]
	}
	// Both metrics are evaluated over the same buckets.
	buckets := min(first.deployment.Buckets, second.deployment.Buckets)
	first.deployment.Buckets, second.deployment.Buckets = buckets, buckets
	return []*preparedPair{first, second}, nil
}

// wallOnly reports whether a method was timed in both versions but has no CPU time to compare.
func (s *preparedPair) wallOnly(m int) bool {
	r, t := s.records[m], s.timed[m]
	return min(r[evidence.Base], r[evidence.Head]) == 0 && min(t[evidence.Base], t[evidence.Head]) > 0
}

// lacksCPU reports whether any method must be judged by wall time.
func (s *preparedPair) lacksCPU() bool {
	for m := range s.names {
		if s.wallOnly(m) {
			return true
		}
	}
	return false
}

func metricOf(p Pair, o Options) query.Metric {
	switch {
	case o.Metric != "":
		return query.Metric(o.Metric)
	case p.Base.CPUMeasured > 0 && p.Head.CPUMeasured > 0:
		return query.CPU
	}
	return query.Wall
}
