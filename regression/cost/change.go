package cost

import (
	"context"
	"math"

	"github.com/corehour/corehour/regression/query"
)

// Day is what methods of one service cost in a day, for the dollars of their changes.
//
// Its rule: a change costs what a day of the method costs, less what the same calls would
// have cost before it. So what regress, drift and report print follows from what cost
// prints of the same time.
type Day struct {
	methods map[[2]string]*Line // by class and method
	whole   *float64            // own costs of all
	days    float64
	Basis   string // that of dollars a day, and of what was reconciled
	Generic bool   // whether a public list price is in it
}

// DayOf computes the day of a service in a window; of a version only, unless that is empty.
func DayOf(ctx context.Context, w *query.Warehouse, window query.Window, of query.Service, version string, o Options) (*Day, error) {
	o.Window, o.Filter, o.By = window, query.Filter{Namespace: of.Namespace, Service: of.Name, Environment: of.Environment}, nil
	o.of, o.NoTails = &of, true // which say no more of totals than their intervals
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

// OfChange returns the dollars a day of a change of a method from one cost per call to
// another: of its own cost, or with all that it calls. Nil without a price.
func (d *Day) OfChange(class, method string, inclusive bool, before, after float64) *float64 {
	if d == nil || !(after > 0) {
		return nil
	}
	l := d.methods[[2]string{class, method}]
	switch {
	case l == nil:
		return nil
	case !inclusive:
		return times(l.SelfUSDPerDay, 1-before/after)
	case l.InclusiveUSD == nil || !(d.days > 0):
		return nil
	}
	return times(l.InclusiveUSD, (1-before/after)/d.days)
}

// OfShare returns the dollars a day of a part of what the service costs. Nil without a price.
func (d *Day) OfShare(share float64) *float64 {
	if d == nil {
		return nil
	}
	return times(d.whole, share)
}

func times(usd *float64, factor float64) *float64 {
	if usd == nil || math.IsNaN(factor) || math.IsInf(factor, 0) {
		return nil
	}
	return new(*usd * factor)
}
