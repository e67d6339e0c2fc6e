package cost

import (
	"context"
	"time"

	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/query"
)

const (
	nsPerCoreHour = 3.6e12
	// daysPerMonth makes a month of 730 hours, as clouds bill them.
	daysPerMonth = 365.0 / 12
)

// Options of a report.
type Options struct {
	Filter query.Filter
	By     []Dimension // nil = by method
	// Owners say who owns what; nil = nobody.
	Owners *rules.Owners
	// Price replaces the stored prices; 0 = unpriced. Nil keeps them.
	Price func(query.Place) float64
	// Percentiles asks for those of wall and CPU time, by method only.
	Percentiles bool
}

// Compute makes the report.
func Compute(ctx context.Context, w *query.Warehouse, o Options) (*Report, error) {
	if o.By == nil {
		o.By = []Dimension{ByMethod}
	}
	r := &Report{From: w.Window.From, To: w.Window.To, By: o.By, Methods: []Line{}}
	ask := query.CostAsk{Window: w.Window, Filter: o.Filter, Group: columns(o.By), Price: o.Price}
	if o.Owners != nil {
		ask.Owners = func(c query.Class) string { return o.Owners.Of(c.Namespace, c.Name, c.Environment, c.Class) }
	}
	bills, err := w.Bills(ctx, ask)
	if err != nil {
		return nil, err
	}
	last := r.observe(bills)
	ask.Slot = slotFor(r.ObservedDays)
	costs, err := w.Costs(ctx, ask)
	if err != nil {
		return nil, err
	}
	b := newBuilder(r, o, costs, bills)
	if b.tails, err = readTails(ctx, w, o, last); err != nil {
		return nil, err
	}
	b.setApart()
	b.services()
	b.lines()
	if o.Percentiles {
		spreads, err := w.Spreads(ctx, w.Window, o.Filter)
		if err != nil {
			return nil, err
		}
		r.spread(spreads)
	}
	return r, nil
}

// slotFor is the length of a cluster: long enough that what happens in one is
// nearly independent of the next, short enough that there are some dozens of
// them.
func slotFor(days float64) time.Duration {
	span := time.Duration(days * 24 * float64(time.Hour))
	for _, slot := range []time.Duration{time.Hour, 10 * time.Minute, time.Minute} {
		if span >= 24*slot {
			return slot
		}
	}
	return 10 * time.Second
}

// observe finds out for how much of the window there are rows, and when they end.
func (r *Report) observe(bills []query.Bill) (last time.Time) {
	var first time.Time
	for _, b := range bills {
		if first.IsZero() || b.First.Before(first) {
			first = b.First
		}
		if b.Last.After(last) {
			last = b.Last
		}
		r.Instances += b.Instances
	}
	r.LastRow = last
	if !r.To.IsZero() && last.After(r.To) {
		last = r.To
	}
	r.ObservedDays = max(0, last.Sub(first).Hours()/24)
	return last
}
