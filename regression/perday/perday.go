// Package perday scales dollars of a period to dollars per day.
//
// Its invariant: dollars per day always come from a Basis and are printed together with it. The basis of a service
// depends only on the rows of that service and the time of the query.
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
	// onTheirWay is the maximum delay of counts: an interval of at most a minute, and the time in queues.
	onTheirWay = 3 * time.Minute
)

// Basis is the period that dollars per day are scaled from.
type Basis struct{ Length time.Duration }

// Observe returns the basis of a service in a window: the part that has passed, including hours without rows. It
// starts with the first known row of the service, if that is later. It ends with the last counts if these are
// recent, because the next ones have not arrived yet.
func Observe(asked query.Window, o query.Observed, now time.Time) Basis {
	start, end := asked.From, asked.To
	if o.Began.After(start) {
		start = o.Began
	}
	if end.IsZero() || end.After(now) {
		if end = now; o.Counted.After(now) && (asked.To.IsZero() || asked.To.After(now)) {
			end = o.Counted // the clock of the service is ahead: these hours have passed
			if !asked.To.IsZero() && end.After(asked.To) {
				end = asked.To
			}
		}
	}
	if o.Counted.IsZero() {
		end = start
	} else if o.Counted.Before(end) && end.Sub(o.Counted) < onTheirWay {
		end = o.Counted
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

// String returns a text like `window of 3 h 20 min observed`.
func (b Basis) String() string { return "window of " + b.Text() + " observed" }

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
