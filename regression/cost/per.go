package cost

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/perday"
)

// Per is the unit that dollars are reported for.
type Per string

const (
	PerDay     Per = "day"
	PerMonth   Per = "month"
	PerCall    Per = "call"
	PerRequest Per = "request"
	PerWindow  Per = "window" // the whole window
)

var allPer = []string{string(PerDay), string(PerMonth), string(PerCall), string(PerRequest), string(PerWindow)}

// ParsePer parses a unit.
func ParsePer(s string) (Per, error) {
	if !slices.Contains(allPer, s) {
		return "", fmt.Errorf("--per: want one of %s, found %q (%s)", strings.Join(allPer, ", "), s, configfile.DidYouMean(s, allPer))
	}
	return Per(s), nil
}

// perMillion reports whether tables print dollars per million of the unit.
func (per Per) perMillion() bool { return per == PerCall || per == PerRequest }

// column returns the unit in the header of a column of dollars.
func (per Per) column() string {
	if per.perMillion() {
		return "1M " + string(per) + "s"
	}
	return string(per)
}

// shownPer converts a figure of the window to the unit that tables print.
func (r *Table) shownPer(per Per, l *Line, usd *float64) *float64 {
	shown := r.dollarsPer(per, l, usd)
	if shown != nil && per.perMillion() {
		return new(*shown * 1e6)
	}
	return shown
}

// dollarsPer converts a figure of the window to the unit per. It returns nil if usd is nil or the line has none of
// the unit.
func (r *Table) dollarsPer(per Per, l *Line, usd *float64) *float64 {
	of := 1.0
	switch per {
	case PerDay:
		of = l.days
	case PerMonth:
		of = l.days / perday.DaysPerMonth
	case PerCall:
		of = l.Calls
	case PerRequest:
		of = l.Requests
	}
	if usd == nil || !(of > 0) {
		return nil
	}
	return new(*usd / of)
}
