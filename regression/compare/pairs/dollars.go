package pairs

import (
	"context"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/query"
)

// dayOfHead returns a function that computes the cost of a day of the head version at its first call: from the head's
// first row to the end of the window, or to its last row if the head was named.
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
		day, err = cost.DayOf(ctx, w, window, p.Service, p.Head.Version, cost.Options{})
		return day, err
	}
}

// addDollars sets the cost of a method's change per day, if the price is known.
func addDollars(a *alert.Alert, day *cost.Day, inclusive bool) {
	if a.USDPerDay = day.OfChange(a.Class, a.Method, inclusive, a.Base, a.Head); a.USDPerDay != nil {
		a.USDPerDayBasis = day.Basis
	}
}
