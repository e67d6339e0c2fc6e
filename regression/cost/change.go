package cost

import (
	"context"
	"math"

	"github.com/corehour/corehour/regression/query"
)

// Day holds the costs of the methods of one service per day, to price their changes.
//
// A change costs the method's cost per day minus the cost of the same calls at the earlier cost per call. So
// the dollars of regress, drift and report follow from those that cost prints for the same window.
type Day struct {
	methods map[[2]string]*Line // by class and method
	whole   *float64            // sum of self costs
	days    float64
	Basis   string // how dollars per day were scaled, and any reconciliation
	Generic bool   // whether a public list price is included
}

// DayOf computes the costs of a service in a window. A version that is not empty selects its rows.
func DayOf(ctx context.Context, w *query.Warehouse, window query.Window, of query.Service, version string, o Options) (*Day, error) {
	o.Window, o.Filter, o.By = window, query.Filter{Namespace: of.Namespace, Service: of.Name, Environment: of.Environment}, nil
	o.of, o.NoTails = &of, true // tails only decide intervals, which Day does not use
	if version != "" {
		o.By = []Dimension{ByMethod, ByVersion}
	}
	r, err := Compute(ctx, w, o)
	if err != nil {
		return nil, err
	}
	d := &Day{methods: map[[2]string]*Line{}}
	for i := range r.Services {
		if s := &r.Services[i]; s.Service == of {
			d.days, d.Basis, d.Generic = s.ObservedDays, s.USDPerDayBasis, s.GenericPrice
			if s.AboveProcess() {
				d.Basis += "; " + s.Excess()
			}
		}
	}
	lines := r.Lines()
	for i := range lines {
		l := &lines[i]
		if l.Service != of || l.Version != version {
			continue
		}
		d.methods[[2]string{l.Class, l.Method}] = l
		if l.SelfUSDPerDay != nil {
			if d.whole == nil {
				d.whole = new(0.0)
			}
			*d.whole += *l.SelfUSDPerDay
		}
	}
	return d, nil
}

// OfChange returns the dollars per day of a change in the cost per call of a method from before to after, of
// its self cost or of its inclusive cost. It returns nil without a price.
func (d *Day) OfChange(class, method string, inclusive bool, before, after float64) *float64 {
	if d == nil || !(after > 0) {
		return nil
	}
	l := d.methods[[2]string{class, method}]
	switch {
	case l == nil:
		return nil
	case !inclusive:
		return scaled(l.SelfUSDPerDay, 1-before/after)
	case l.InclusiveUSD == nil || !(d.days > 0):
		return nil
	}
	return scaled(l.InclusiveUSD, (1-before/after)/d.days)
}

// OfShare returns a share of the service's self costs in dollars per day, or nil without a price.
func (d *Day) OfShare(share float64) *float64 {
	if d == nil {
		return nil
	}
	return scaled(d.whole, share)
}

func scaled(usd *float64, factor float64) *float64 {
	if usd == nil || math.IsNaN(factor) || math.IsInf(factor, 0) {
		return nil
	}
	return new(*usd * factor)
}
