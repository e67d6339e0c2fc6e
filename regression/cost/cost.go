package cost

import (
	"context"
	"time"

	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/probecost"
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
	// Now is when it is asked; zero = when it is. What is later is not over yet.
	Now time.Time
	// Percentiles asks for those of wall and CPU time, by method only.
	Percentiles bool
}

// Compute makes the report.
func Compute(ctx context.Context, w *query.Warehouse, o Options) (*Report, error) {
	if o.By == nil {
		o.By = []Dimension{ByMethod}
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	window, level := w.Whole(w.Window)
	r := &Report{From: window.From, To: window.To, RowsBy: level, By: o.By, Methods: []Line{}}
	ask := query.CostAsk{Window: window, Filter: o.Filter, Group: columns(o.By), Price: o.Price}
	if o.Owners != nil {
		ask.Owners = func(c query.Class) string { return o.Owners.Of(c.Namespace, c.Name, c.Environment, c.Class) }
	}
	bills, err := w.Bills(ctx, ask)
	if err != nil {
		return nil, err
	}
	if len(bills) == 0 {
		return r, nil
	}
	first, last := r.spanOf(bills)
	r.observe(first, last, w.First(), o.Now)
	ask.Slot = slotFor(last.Sub(first))
	costs, err := w.Costs(ctx, ask)
	if err != nil {
		return nil, err
	}
	probes, err := probecost.Read(ctx, w, window, o.Filter)
	if err != nil {
		return nil, err
	}
	b := newBuilder(r, o, costs, bills)
	if b.tails, err = readTails(ctx, w, o, query.Window{From: last.AddDate(0, 0, -tailDays), To: window.To}); err != nil {
		return nil, err
	}
	b.takeOffProbes(probes)
	b.setApart()
	b.reconcile()
	b.services()
	b.lines()
	if o.Percentiles {
		spreads, err := w.Spreads(ctx, window, o.Filter)
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
func slotFor(span time.Duration) time.Duration {
	for _, slot := range []time.Duration{time.Hour, 10 * time.Minute, time.Minute} {
		if span >= 24*slot {
			return slot
		}
	}
	return 10 * time.Second
}

// spanOf is from the first row to the end of the last one, within the window.
func (r *Report) spanOf(bills []query.Bill) (first, last time.Time) {
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
	return first, last
}

// observe finds out for how much of the window it is known what was spent: all of it
// that is over, hours without rows too, since the first row that the warehouse holds.
// Rows of a clock that is ahead are of hours that are over.
func (r *Report) observe(first, last, held, now time.Time) {
	if held.IsZero() {
		held = first
	}
	start, end := r.From, r.To
	if start.Before(held) {
		start = held
	}
	if end.IsZero() || end.After(now) {
		if end = now; end.Before(last) {
			end = last
		}
	}
	r.ObservedDays = max(0, end.Sub(start).Hours()/24)
}
