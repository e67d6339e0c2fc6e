package pairs

import (
	"context"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/query"
)

// dayOfHead returns what a day of the head version costs, computed when an alert first asks:
// from its first row to the end of the window, or to its last row if it was asked for by name.
func dayOfHead(ctx context.Context, w *query.Warehouse, p Pair, o Options) func() (*cost.Day, error) {
	var day *cost.Day
	return func() (*cost.Day, error) {
		if day != nil {
			return day, nil
		}
		window := query.Window{From: later(w.Window.From, p.Head.First), To: w.Window.To}
		if o.Head != "" && (window.To.IsZero() || p.Head.Last.Before(window.To)) {
			window.To = p.Head.Last
		}
		var err error
		day, err = cost.DayOf(ctx, w, window, p.Service, p.Head.Version, cost.Options{Now: o.AsOf})
		return day, err
	}
}

// addDollars says what the change of a method costs a day, where that is known.
func addDollars(a *alert.Alert, day *cost.Day, inclusive bool) {
	if a.USDPerDay = day.OfChange(a.Class, a.Method, inclusive, a.Base, a.Head); a.USDPerDay != nil {
		a.USDPerDayBasis = day.Basis
	}
}
