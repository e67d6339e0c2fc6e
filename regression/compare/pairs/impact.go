package pairs

import (
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/query"
)

// impact returns the change of an alert relative to the service's cost in the head version: its time in calls from
// outside the measured methods.
func (s *preparedPair) impact(v *evidence.Verdict, usdPerDay *float64, day *cost.Day) alert.Impact {
	i := alert.Impact{USDPerDay: usdPerDay, HeadProcesses: s.processes[evidence.Head] - s.silent[evidence.Head]}
	d := s.deployment
	isMethod := map[string]bool{}
	for _, m := range d.Methods {
		isMethod[m] = true
	}
	var calls, of, whole float64
	for k := range d.Cells {
		cell := &d.Cells[k]
		if s.side(int(cell.Instance)) != evidence.Head {
			continue
		}
		caller := d.Callers[cell.Caller]
		if d.Methods[cell.Method] == v.FullName && (v.Caller == "" || caller == v.Caller) {
			calls, of = calls+cell.Weight, of+cell.Sum
		}
		if !isMethod[caller] {
			whole += cell.Sum
		}
	}
	if !(whole > 0) {
		return i
	}
	change := *v.ChangePercent / 100
	switch v.Kind {
	case evidence.Regression:
		i.Share = (v.HeadNSPerCall - v.BaseNSPerCall) * calls / whole
	case evidence.MoreCalls:
		i.Share = change / (1 + change) * of / whole
	default:
		i.Share = change / (1 + change)
	}
	if usdPerDay == nil && v.Kind != evidence.Regression { // no dollars of their own, but the service has a price
		i.USDPerDay = day.OfShare(i.Share)
	}
	return i
}

// impactOf is impact for ThresholdRule: the growth of one method as a share of the self cost of all methods.
func (j *threshold) impactOf(m *thresholdMethod, p Pair, usdPerDay *float64) alert.Impact {
	i := alert.Impact{USDPerDay: usdPerDay, HeadProcesses: 1}
	buckets := int64(p.Head.afterWarmUp(j.options)/bucketFor(p, j.options)) + 2 // the first and the last can be partial
	for k := range j.methods {                                                  // more clusters than time buckets belong to several processes
		if h := j.methods[k].head; h != nil {
			i.HeadProcesses = max(i.HeadProcesses, int((h.Clusters+buckets-1)/buckets))
		}
	}
	if whole := j.headOwn[query.Metric(m.Metric)]; whole > 0 {
		i.Share = (m.HeadNSPerCall - m.BaseNSPerCall) * m.head.N / whole
	}
	return i
}
