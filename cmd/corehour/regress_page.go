package main

import (
	"fmt"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/verdict"
)

// regressPage is the answer as a comment on a pull request: one table for each
// deployment, the dearest first, and what was compared.
func regressPage(f *findings) *output.Document {
	d := &output.Document{}
	if len(f.Alerts) == 0 {
		said := fmt.Sprintf("corehour: no method became more than %g%% dearer beyond doubt.", f.Threshold)
		if f.CouldNotTell {
			said = "corehour: could not tell: no method could be compared."
		}
		d.Say(said)
	}
	for _, m := range alert.Messages(alert.Firing, f.Alerts) {
		d.Add(pageTable(&m))
	}
	var notes []string
	for _, c := range f.Comparisons {
		judged, few := 0, 0
		for i := range c.Methods {
			switch l := &c.Methods[i]; {
			case l.State.Judged():
				judged++
			case l.State == verdict.FewRecords || l.State == verdict.FewSlots:
				few++
			}
		}
		notes = append(notes, fmt.Sprintf("%s: version %s against %s by %s time: %d methods compared, %d with too few records to tell",
			c.Service, c.HeadVersion, c.BaseVersion, c.Metric, judged, few))
	}
	for _, s := range f.NotCompared {
		notes = append(notes, fmt.Sprintf("%s: not compared: %s", s.Service, s.Reason))
	}
	d.Say(append(notes, untold(f.Accepted, f.Silenced)...)...)
	return d
}

func pageTable(m *alert.Message) *output.Table {
	service := query.Service{Namespace: m.ServiceNamespace, Name: m.Service, Environment: m.Environment}
	t := &output.Table{
		Title: fmt.Sprintf("%s: %d methods dearer from %s to %s", service, len(m.Alerts),
			withRevision(m.BaseVersion, m.BaseRevision), withRevision(m.HeadVersion, m.HeadRevision)),
		Columns: []string{"method", "severity", "$/day", "change", "95% interval", "metric", "before", "after", "owner", "id"},
	}
	if m.USDPerDay != nil {
		t.Title += fmt.Sprintf(", $%s a day", output.Amount(*m.USDPerDay))
	}
	for i := range m.Alerts {
		a := &m.Alerts[i]
		t.Rows = append(t.Rows, []output.Cell{
			output.Name(a.Name()), output.Name(string(a.Severity)), output.Figure(amount(a.USDPerDay)),
			output.Figure(fmt.Sprintf("%+.1f%%", a.ChangePercent)), output.Figure(fmt.Sprintf("%+.1f%% to %+.1f%%", a.Interval[0], a.Interval[1])),
			output.Name(a.Basis + " " + a.Metric), output.Figure(output.Nanos(a.Base)), output.Figure(output.Nanos(a.Head)),
			output.Name(a.Owner), output.Name(a.ID),
		})
	}
	return t
}

func withRevision(version, revision string) string {
	if revision == "" || revision == version {
		return version
	}
	return version + " (" + revision + ")"
}
