package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// page returns the findings as a comment on a pull request: one table for each deployment, the most expensive
// first, and the list of comparisons.
func (f *Findings) page(top int) *output.Document {
	d := &output.Document{}
	if len(f.Alerts) == 0 {
		d.Say("corehour: " + f.nothingRaised() + ".")
	}
	for _, m := range alert.Messages(alert.Firing, f.Alerts) {
		d.Add(pageTable(&m))
	}
	var notes []string
	shown, left := f.mostCompared(top)
	for _, c := range shown {
		notes = append(notes, f.oneLine(c))
	}
	d.Say(slices.Concat(notes, left, f.notCompared(top), f.NotRaised())...)
	return d
}

func pageTable(m *alert.Message) *output.Table {
	var c output.Columns[alert.Alert]
	c.Name("method", (*alert.Alert).About)
	c.Plain("severity")
	c.Figure("$/day", func(a *alert.Alert) string { return output.Priced(a.USDPerDay, a.GenericPrice) })
	c.Figure("change", func(a *alert.Alert) string { return output.Change(a.ChangePercent) })
	c.Figure("95% interval", func(a *alert.Alert) string { return output.Interval(&a.Interval, output.Change) })
	c.Name("metric", func(a *alert.Alert) string {
		if a.Kind == alert.MoreCalls { // their figures are calls, not times
			return a.Basis
		}
		return a.Basis + " " + a.Metric
	})
	c.Figure("before", func(a *alert.Alert) string { return cmp.Or(a.Levels().Before, output.Unknown) })
	c.Figure("after", func(a *alert.Alert) string { return a.Levels().After })
	c.Plain("owner", "id")
	t := c.Table(m.Alerts)
	service := query.Service{Namespace: m.ServiceNamespace, Name: m.Service, Environment: m.Environment}
	t.Title = fmt.Sprintf("%s: %s from %s to %s", service, whatMoved(m.Alerts),
		withRevision(m.BaseVersion, m.BaseRevision), withRevision(m.HeadVersion, m.HeadRevision))
	if m.USDPerDay != nil {
		t.Title += fmt.Sprintf(", $%s a day (%s)", output.Priced(m.USDPerDay, m.GenericPrice), alert.BasisOf(m.Alerts))
	}
	return t
}

// whatMoved counts alerts by kind.
func whatMoved(alerts []alert.Alert) string {
	n := map[string]int{}
	for i := range alerts {
		n[alerts[i].Kind]++
	}
	var parts []string
	if slower := len(alerts) - n[alert.MoreCalls] - n[alert.WholeService]; slower > 0 {
		parts = append(parts, output.Several(int64(slower), "method")+" regressed")
	}
	if calls := n[alert.MoreCalls]; calls > 0 {
		parts = append(parts, output.Several(int64(calls), "method")+" called more often by a caller")
	}
	if n[alert.WholeService] > 0 {
		parts = append(parts, "the whole service regressed")
	}
	return strings.Join(parts, ", ")
}

func withRevision(version, revision string) string {
	if revision == "" || revision == version {
		return version
	}
	return version + " (" + revision + ")"
}
