package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/judge"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// regressPage is the answer as a comment on a pull request: one table for each
// deployment, the most expensive first, and what was compared.
func regressPage(f *findings, top int) *output.Document {
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
		judged, few := 0, 0
		for i := range c.Methods {
			switch l := &c.Methods[i]; {
			case l.State.Judged():
				judged++
			case l.State == judge.FewRecords || l.State == judge.FewBuckets:
				few++
			}
		}
		notes = append(notes, fmt.Sprintf("%s: version %s against %s (%s) by %s time: %d methods compared, %d with too few records",
			c.Service, c.HeadVersion, c.BaseVersion, c.ChosenBy, c.Metric, judged, few))
	}
	d.Say(slices.Concat(notes, left, f.notCompared(top), acceptedAndMuted(f.Accepted, f.Silenced))...)
	return d
}

func pageTable(m *alert.Message) *output.Table {
	service := query.Service{Namespace: m.ServiceNamespace, Name: m.Service, Environment: m.Environment}
	t := &output.Table{
		Title: fmt.Sprintf("%s: %s from %s to %s", service, whatMoved(m.Alerts),
			withRevision(m.BaseVersion, m.BaseRevision), withRevision(m.HeadVersion, m.HeadRevision)),
		Columns: []string{"method", "severity", "$/day", "change", "95% interval", "metric", "before", "after", "owner", "id"},
	}
	if m.USDPerDay != nil {
		t.Title += fmt.Sprintf(", $%s a day (%s)", priced(output.Amount(*m.USDPerDay), m.GenericPrice), alert.BasisOf(m.Alerts))
	}
	for i := range m.Alerts {
		a := &m.Alerts[i]
		l := a.Levels()
		metric := a.Basis + " " + a.Metric
		if a.Kind == alert.MoreCalls { // which no time is part of
			metric = a.Basis
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Name(a.About()), output.Name(string(a.Severity)), output.Figure(priced(output.AmountOf(a.USDPerDay), a.GenericPrice)),
			output.Figure(fmt.Sprintf("%+.1f%%", a.ChangePercent)), output.Figure(fmt.Sprintf("%+.1f%% to %+.1f%%", a.Interval[0], a.Interval[1])),
			output.Name(metric), output.Figure(cmp.Or(l.Before, output.Unknown)), output.Figure(l.After),
			output.Name(a.Owner), output.Name(a.ID),
		})
	}
	return t
}

// whatMoved counts alerts by what they are about.
func whatMoved(alerts []alert.Alert) string {
	n := map[string]int{}
	for i := range alerts {
		n[alerts[i].Kind]++
	}
	var parts []string
	if slower := len(alerts) - n[alert.MoreCalls] - n[alert.WholeService]; slower > 0 {
		parts = append(parts, fmt.Sprintf("%d methods regressed", slower))
	}
	if calls := n[alert.MoreCalls]; calls > 0 {
		parts = append(parts, fmt.Sprintf("%d methods called more often by a caller", calls))
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
