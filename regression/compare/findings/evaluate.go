package findings

import (
	"context"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/query"
)

// Findings is the result of one evaluation.
type Findings struct {
	From       time.Time `json:"from"`
	To         time.Time `json:"to"`
	Method     string    `json:"method"`
	Threshold  float64   `json:"threshold_percent"`
	MinRecords int64     `json:"min_records"`
	MinShare   float64   `json:"min_share_percent"`
	delivery.Sorted
	Comparisons  []*pairs.Comparison `json:"comparisons"`
	NotCompared  []pairs.Skip        `json:"not_compared"`
	CouldNotTell bool                `json:"could_not_tell"`
	Warnings     []string            `json:"warnings,omitempty"`
}

// Evaluate compares the deployments that pass a filter. It returns nil if there is none. o.AsOf is now.
func Evaluate(ctx context.Context, w *query.Warehouse, filter query.Filter, rule pairs.Rule, o pairs.Options) (*Findings, error) {
	f := &Findings{
		From: w.Window.From, To: w.Window.To, Method: rule.Name(), Threshold: o.ThresholdPercent, MinRecords: o.MinRecords, MinShare: o.MinSharePercent,
		Sorted: delivery.NewSorted(), Comparisons: []*pairs.Comparison{}, NotCompared: []pairs.Skip{}, CouldNotTell: true,
	}
	if f.To.IsZero() {
		f.To = o.AsOf
	}
	runs, err := w.RunsBy(ctx, o.Unit(), w.Window, filter)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	if f.Warnings, err = warnings(ctx, w, filter, runs, o.AsOf); err != nil {
		return nil, err
	}
	chosen, skips, err := pairs.Choose(runs, o.Base, o.Head)
	if err != nil {
		return nil, err
	}
	comparisons, few, err := rule.Compare(ctx, w, filter, chosen, o)
	if err != nil {
		return nil, err
	}
	f.NotCompared = append(append(f.NotCompared, skips...), few...) // JSON must contain [], not null
	f.Comparisons = append(f.Comparisons, comparisons...)
	for _, c := range comparisons {
		f.Alerts = append(f.Alerts, c.Alerts...)
		f.CouldNotTell = f.CouldNotTell && !c.Conclusive()
	}
	slices.SortStableFunc(f.Alerts, alert.MoreExpensive)
	return f, nil
}

// warnings warns about clocks that are ahead, and about several processes that can look like one.
func warnings(ctx context.Context, w *query.Warehouse, filter query.Filter, runs []query.Run, now time.Time) ([]string, error) {
	ahead := cost.AheadOf(slices.MaxFunc(runs, func(a, b query.Run) int { return a.Last.Compare(b.Last) }).Last, now)
	if !slices.ContainsFunc(runs, func(r query.Run) bool { return r.UnknownProcesses }) { // other SDKs do not identify processes
		return ahead, nil
	}
	merged, err := w.Merged(ctx, w.Window, filter)
	var notes []string
	for _, s := range merged {
		notes = append(notes, cost.MergedNote(s))
	}
	return append(ahead, cost.Few(notes)...), err
}

// Deliver leaves out accepted and muted alerts, sends the rest and returns it, including alerts that could not be
// sent. If the state cannot be read, it returns nil.
func (f *Findings) Deliver(ctx context.Context, to *delivery.Dispatcher) (raised []alert.Alert, err error) {
	sorted, err := to.Handle(ctx, f.Alerts, f.Threshold, f.resolved)
	if sorted == nil {
		return nil, err
	}
	f.Sorted = *sorted
	return f.Alerts, err
}

// Found reports whether an alert is raised.
func (f *Findings) Found() bool { return len(f.Alerts) > 0 }

// Inconclusive reports whether there is not enough data to find anything.
func (f *Findings) Inconclusive() bool { return f.CouldNotTell }
