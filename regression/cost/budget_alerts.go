package cost

import (
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/output"
)

// state returns the state of the budget as a table prints it.
func (s *Spending) state() string {
	switch {
	case s.unknown():
		return "unknown"
	case s.Broken:
		return "BROKEN"
	case *s.SpentUSD > s.PlannedUSD:
		return "above, not proven"
	}
	return "kept"
}

// Alert returns the alert of a broken budget.
func (s *Spending) Alert(now time.Time) alert.Alert {
	b := &s.Budget
	percentOf := func(usd float64) float64 { return 100 * (usd/s.PlannedUSD - 1) }
	excess := *s.SpentUSD - s.PlannedUSD
	a := alert.Alert{
		Schema: alert.Schema, Kind: alert.Budget, Budget: b.Name,
		ServiceNamespace: b.Namespace, Service: b.Service, Environment: b.Environment, Class: b.Class, Owner: b.Owner,
		Metric: "usd_per_day", Base: s.PlannedUSD, Head: *s.SpentUSD,
		ChangePercent: percentOf(*s.SpentUSD), Interval: [2]float64{percentOf(s.Interval[0]), percentOf(s.Interval[1])},
		Records: s.Records, USDPerDay: &excess, GenericPrice: s.GenericPrice, FirstSeen: now.UTC().Truncate(time.Second), Links: []string{},
	}
	a.Severity = alert.SeverityOf(alert.Impact{USDPerDay: &excess, Share: excess / *s.SpentUSD})
	if s.Calls > 0 { // the reason says why that is a lower bound
		a.AssumedShare = s.AssumedCalls / s.Calls
	}
	spent := fmt.Sprintf("$%s a day, 95%% interval $%s to $%s, planned are $%s a day",
		output.Amount(*s.SpentUSD), output.Amount(s.Interval[0]), output.Amount(s.Interval[1]), output.Amount(s.PlannedUSD))
	if s.AtLeast != "" {
		spent = fmt.Sprintf("at least $%s a day, planned are $%s a day; %s", output.Amount(*s.SpentUSD), output.Amount(s.PlannedUSD), s.AtLeast)
	}
	a.Reason = fmt.Sprintf("budget %s (%s): %s of %s", b.Name, b.selection(), s.What, spent)
	a.ID = alert.ID(&a)
	return a
}

// Kept returns a function that reports whether the budget of an open alert is kept again, and why.
func Kept(spendings []Spending) func(*alert.Alert) (why string, kept bool) {
	return func(a *alert.Alert) (string, bool) {
		if a.Kind != alert.Budget {
			return "", false
		}
		i := slices.IndexFunc(spendings, func(s Spending) bool { return s.Name == a.Budget })
		if i < 0 {
			return "the budget was removed", true
		}
		if s := &spendings[i]; !s.unknown() && !s.Broken {
			return fmt.Sprintf("$%s a day, planned are $%s a day", output.Amount(*s.SpentUSD), output.Amount(s.PlannedUSD)), true
		}
		return "", false
	}
}

// MayBreak reports whether unknown idle cores or calls could still break a budget.
func MayBreak(spendings []Spending) bool {
	return slices.ContainsFunc(spendings, func(s Spending) bool { return s.AtLeast != "" && !s.Broken })
}
