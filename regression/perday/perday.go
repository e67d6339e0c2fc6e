// Package perday scales dollars of a stretch of time to dollars a day.
//
// Its invariant: every command prints dollars a day that one of its bases made, with the
// basis, and the basis of a service follows from the rows of that service and the time of
// the question only.
//
// It knows no prices: it scales what has been priced.
package perday

import (
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/query"
)

const (
	day = 24 * time.Hour
	// DaysPerMonth makes a month of 730 hours, as clouds bill them.
	DaysPerMonth = 365.0 / 12
	// onTheirWay is how long counts may take: an interval of at most a minute, and the
	// way through the queues.
	onTheirWay = 3 * time.Minute
)

// Basis is the time that dollars a day are scaled from.
type Basis struct{ Length time.Duration }

// Observe is the basis of a service in a window: all of it that is over, hours without rows
// too. It begins with the first row that is known of the service, and ends with the
// last counts while the next ones are on their way: what follows is not known yet.
func Observe(asked query.Window, o query.Observed, now time.Time) Basis {
	start, end := asked.From, asked.To
	if o.Began.After(start) {
		start = o.Began
	}
	if end.IsZero() || end.After(now) {
		if end = now; o.Counted.After(now) && (asked.To.IsZero() || asked.To.After(now)) {
			end = o.Counted // its clock is ahead: these hours are over
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

// Days is the length in days.
func (b Basis) Days() float64 { return b.Length.Hours() / 24 }

// Of scales dollars of the basis to a day; false where it has no length.
func (b Basis) Of(usd float64) (perDay float64, ok bool) {
	if b.Length <= 0 {
		return 0, false
	}
	return usd / b.Days(), true
}

// String is `window of 3 h 20 min observed`.
func (b Basis) String() string { return "window of " + b.Text() + " observed" }

// Text is the length for people: two units, as in `3 h 20 min`.
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
