package report

import (
	"cmp"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// alertLine is an alert as the page and the text print it.
type alertLine struct {
	Kind, Name, Service, Versions, Change, Interval, Before, After, USD, ID string
}

func alertLineOf(a *alert.Alert) alertLine {
	l := a.Levels()
	return alertLine{
		Kind: a.Kind, Name: output.Printable(a.About()), ID: a.ID, USD: output.Priced(a.USDPerDay, a.GenericPrice),
		Service:  output.Printable(query.Service{Namespace: a.ServiceNamespace, Name: a.Service, Environment: a.Environment}.String()),
		Versions: output.Printable(a.BaseVersion + " → " + a.HeadVersion),
		Change:   output.Change(a.ChangePercent), Interval: output.Interval(&a.Interval, output.Change),
		Before: cmp.Or(l.Before, output.Unknown), After: l.Level(),
	}
}

func (r *Report) alertLines() []alertLine {
	lines := make([]alertLine, len(r.Alerts))
	for i := range r.Alerts {
		lines[i] = alertLineOf(&r.Alerts[i])
	}
	return lines
}

func (r *Report) alertTable() *output.Table {
	t := &output.Table{
		Title:   leftOut("alerts, accepted and silenced ones too", r.AlertsLeft, "cheaper ones"),
		Columns: []string{"service", "alert", "of", "versions", "change", "interval", "before", "after", "$/day", "id"},
		Least:   []string{"before", "after", "alert", "interval"},
	}
	if basis := alert.BasisOf(r.Alerts); basis != "" {
		t.Title += "; $/day: " + basis
	}
	for _, l := range r.alertLines() {
		t.Rows = append(t.Rows, []output.Cell{
			output.Name(l.Service), output.Name(l.Kind), output.Name(l.Name), output.Name(l.Versions), output.Figure(l.Change), output.Figure(l.Interval),
			output.Figure(l.Before), output.Figure(l.After), output.Figure(l.USD), output.Figure(l.ID), // Figure, because a truncated id is useless
		})
	}
	return t
}
