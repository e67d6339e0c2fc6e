package cost

import (
	"context"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/perday"
	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/regression/query"
)

const nsPerCoreHour = 3.6e12

// Options select and configure a table of costs.
type Options struct {
	Filter query.Filter
	// Window is a part of the warehouse's window; zero = all of it.
	Window query.Window
	By     []Dimension // nil = by method
	// Owners assign owners to classes; nil = no owners.
	Owners *rules.Owners
	// Price replaces the stored prices. 0 = unpriced. Nil keeps the stored prices.
	Price func(query.Place) float64
	// Listed reports whether the price of a place is a public list price; nil = none is.
	Listed func(query.Place) bool
	// Percentiles adds percentiles of wall and CPU time, by method only.
	Percentiles bool
	// Wall adds the wall time of services without measured CPU.
	Wall bool
	// IncludeAssumed also prices the calls whose number is a lower bound.
	IncludeAssumed bool
	// Uncut reports that nothing in the window began before it, so it is not widened to whole minutes.
	Uncut bool
	// NoTails skips reading the skewness of calls, which needs rows from before the window.
	NoTails bool

	of *query.Service // restricts the filter to one service; nil = all
}

// Compute reads and computes the table.
func Compute(ctx context.Context, w *query.Warehouse, o Options) (*Table, error) {
	if o.By == nil {
		o.By = []Dimension{ByMethod}
	}
	asked := o.Window
	if asked == (query.Window{}) {
		asked = w.Window
	}
	if !o.Uncut {
		asked = wholeMinutes(asked)
	}
	window, level := w.Whole(asked)
	r := &Table{From: window.From, To: window.To, RowsBy: level, By: o.By, Methods: []Line{}}
	ask := query.CostQuery{Window: window, Filter: o.Filter, Of: o.of, Group: columns(o.By), Price: o.Price, Listed: o.Listed}
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
	first, last := r.setSpan(bills)
	pending, err := w.Pending(ctx, window, o.Filter)
	if err != nil {
		return nil, err
	}
	ask.TimeBucket = bucketFor(last.Sub(first))
	costs, err := w.Costs(ctx, ask)
	if err != nil {
		return nil, err
	}
	probes, err := probecost.Read(ctx, w, window, o.Filter)
	if err != nil {
		return nil, err
	}
	b := newBuilder(r, o, costs, bills)
	b.setObservedDays(bills)
	b.setPendingRecords(pending)
	if err := b.readOthers(ctx, w, window, bills); err != nil {
		return nil, err
	}
	if err := b.readWall(ctx, w, ask); err != nil {
		return nil, err
	}
	if !o.NoTails {
		if b.tails, err = readTails(ctx, w, o, query.Window{From: last.AddDate(0, 0, -tailDays), To: window.To}); err != nil {
			return nil, err
		}
	}
	b.takeOffProbes(probes)
	b.dropUntimedSelf()
	b.reconcile()
	b.splitByGroup()
	b.addServices()
	b.addLines()
	if o.Percentiles {
		spreads, err := w.Spreads(ctx, window, o.Filter)
		if err != nil {
			return nil, err
		}
		r.setPercentiles(spreads)
	}
	return r, nil
}

// readOthers reads the assumptions about spans of other SDKs, if there are such spans.
func (b *builder) readOthers(ctx context.Context, w *query.Warehouse, window query.Window, bills []query.Bill) error {
	if slices.ContainsFunc(bills, func(b query.Bill) bool { return b.Others }) {
		assumed, err := w.Assumed(ctx, window, b.options.Filter)
		if err != nil {
			return err
		}
		b.setAssumedCalls(assumed)
		merged, err := w.Merged(ctx, window, b.options.Filter)
		if err != nil {
			return err
		}
		for _, s := range merged {
			b.ensureService(s)
			b.service[s].MayBeMerged = true
		}
	}
	return nil
}

// bucketFor returns the length of a time bucket: long enough that buckets are nearly independent, short
// enough for at least 24 of them.
func bucketFor(span time.Duration) time.Duration {
	for _, bucket := range []time.Duration{time.Hour, 10 * time.Minute, time.Minute, 10 * time.Second, time.Second} {
		if span >= 24*bucket {
			return bucket
		}
	}
	return 100 * time.Millisecond
}

// setSpan sets the sample size and returns the start of the first row and the end of the last one, within the window.
func (r *Table) setSpan(bills []query.Bill) (first, last time.Time) {
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

// wholeMinutes widens a window to whole minutes. Counts and process rows cover parts of one minute and cannot
// be cut, so all rows of the widened window cover the same time.
func wholeMinutes(w query.Window) query.Window {
	if to := w.To.Truncate(time.Minute); !to.Equal(w.To) {
		w.To = to.Add(time.Minute)
	}
	w.From = w.From.Truncate(time.Minute)
	return w
}

// setObservedDays computes, from each service's own rows, the part of the window in which it ran.
func (b *builder) setObservedDays(bills []query.Bill) {
	for i := range bills {
		bill := &bills[i]
		s := b.service[bill.Service]
		s.basis = perday.Observe(query.Window{From: b.From, To: b.To}, *bill)
		s.ObservedDays, s.USDPerDayBasis = s.basis.Days(), s.basis.String()
		if b.ObservedDays = max(b.ObservedDays, s.ObservedDays); !bill.Counted.IsZero() {
			s.CountedUntil = &bill.Counted
		}
	}
}

// setPendingRecords records the measurements that wait for their counts. A method that so far has only such measurements
// gets a line too.
func (b *builder) setPendingRecords(all []query.Pending) {
	known := map[versionOf]*query.MethodCost{}
	for i := range b.costs.Methods {
		m := &b.costs.Methods[i]
		known[versionOf{nameOf(m), m.Version}] = m
	}
	b.pending = map[*query.MethodCost]int64{}
	var more []query.MethodCost
	for _, p := range all {
		b.ensureService(p.Service)
		s := b.service[p.Service]
		s.PendingRecords += p.Measured
		if s.PendingSince == nil || p.First.Before(*s.PendingSince) {
			s.PendingSince = &p.First
		}
		if known[versionOf{p.MethodName, p.Version}] == nil {
			more = append(more, query.MethodCost{Service: p.Service, Version: p.Version, Class: p.Class, Method: p.Method, Full: p.Full, Owner: b.options.owner(p.MethodName)})
		}
	}
	b.costs.Methods = append(b.costs.Methods, more...)
	for i := range b.costs.Methods { // append may have moved them
		m := &b.costs.Methods[i]
		known[versionOf{nameOf(m), m.Version}] = m
	}
	for _, p := range all {
		b.pending[known[versionOf{p.MethodName, p.Version}]] += p.Measured
	}
}

func (o *Options) owner(m query.MethodName) string {
	if o.Owners == nil {
		return ""
	}
	return o.Owners.Of(m.Namespace, m.Name, m.Environment, m.Class)
}
