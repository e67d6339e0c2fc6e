package pairs

import (
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/cost"
)

// impact is what the change of an alert is of the service's cost in the head version: its
// time in calls that come from none of its methods.
func (s *subject) impact(j evidence.Alert, usdPerDay *float64, day *cost.Day) alert.Impact {
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
		if d.Methods[cell.Method] == j.Method && (j.Caller == "" || caller == j.Caller) {
			calls, of = calls+cell.Weight, of+cell.Sum
		}
		if !isMethod[caller] {
			whole += cell.Sum
		}
	}
	if !(whole > 0) {
		return i
	}
	switch j.Kind {
	case evidence.Regression:
		i.Share = (j.HeadMean - j.BaseMean) * calls / whole
	case evidence.MoreCalls:
		i.Share = j.Change / (1 + j.Change) * of / whole
	default:
		i.Share = j.Change / (1 + j.Change)
	}
	if usdPerDay == nil && j.Kind != evidence.Regression { // these name no price, but the service has one
		i.USDPerDay = day.OfShare(i.Share)
	}
	return i
}

// impactOf is the same by the threshold: what the growth of one method is of the own time
// of all. Clusters beyond one a bucket are of more processes than one.
func impactOf(c *Comparison, l *Line, p Pair, o Options, usdPerDay *float64) alert.Impact {
	i := alert.Impact{USDPerDay: usdPerDay, HeadProcesses: 1}
	buckets := int64(p.Head.afterWarmUp(o)/bucketFor(p, o)) + 2 // the first and the last are parts
	for k := range c.Methods {
		if h := c.Methods[k].head; h != nil {
			i.HeadProcesses = max(i.HeadProcesses, int((h.Clusters+buckets-1)/buckets))
		}
	}
	if whole := c.headOwn[l.Metric]; whole > 0 {
		i.Share = (l.HeadNSPerCall - l.BaseNSPerCall) * l.head.N / whole
	}
	return i
}
