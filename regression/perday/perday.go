// Package perday scales dollars of a period to dollars per day.
//
// Its invariant: dollars per day always come from a Basis and are printed together with it. The basis of a service
// depends only on the rows of that service in the window.
//
// It knows no prices: it scales amounts that are priced already.
package perday

import (
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/query"
)

const (
	day = 24 * time.Hour
	// DaysPerMonth gives a month of 730 hours, as cloud providers bill it.
	DaysPerMonth = 365.0 / 12
)

// Basis is the period that dollars per day are scaled from.
type Basis struct{ Length time.Duration }

// Observe returns the basis of a service in a window: the time in which it ran, from its first row to its last counts.
// It does not depend on the time of the query. Gaps between its runs belong to it: without them, a job that runs an
// hour a day would cost 24 times its bill.
func Observe(window query.Window, b query.Bill) Basis {
	start, end := b.First, b.Counted
	if start.Before(window.From) {
		start = window.From
	}
	if !window.To.IsZero() && end.After(window.To) {
		end = window.To
	}
	return Basis{max(0, end.Sub(start))}
}

// Days returns the length in days.
func (b Basis) Days() float64 { return b.Length.Hours() / 24 }

// PerDay scales dollars of the basis to a day. It returns false if the basis has no length.
func (b Basis) PerDay(usd float64) (perDay float64, ok bool) {
	if b.Length <= 0 {
		return 0, false
	}
	return usd / b.Days(), true
}

// String returns a text like `ran for 3 h 20 min`.
func (b Basis) String() string { return "ran for " + b.Text() }

// Text returns the length in at most two units, like `3 h 20 min`.
func (b Basis) Text() string {
	units := []struct {
		name   string
		length time.Duration
	}{{"d", day}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}}
	d := b.Length.Round(time.Second)
	if d >= 2*time.Hour {
		d = b.Length.Round(time.Minute)
	}
	if d >= 2*day {
		d = b.Length.Round(time.Hour)
	}
	for i, u := range units {
		if d < u.length && i < len(units)-1 {
			continue
		}
		text := fmt.Sprintf("%d %s", d/u.length, u.name)
		if rest := d % u.length; i < len(units)-1 && rest >= units[i+1].length {
			text += fmt.Sprintf(" %d %s", rest/units[i+1].length, units[i+1].name)
		}
		return text
	}
	return ""
}
