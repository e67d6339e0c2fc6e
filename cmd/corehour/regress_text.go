package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/judge"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/verdict"
)

// manyLines is how many methods a comparison may have to be printed in full.
const manyLines = 30

// regressDocument prints the services with an alert and the top of the others (0 = all), those of
// which most was measured.
func regressDocument(f *findings, top int) *output.Document {
	d := &output.Document{Data: f}
	t := &output.Table{Least: []string{"basis", "metric", "measured", "seen from", "records", "base/call", "head/call", "inclusive", "environment"}, Columns: []string{
		"service", "environment", "base", "head", "method", "verdict", "metric", "basis", "change", "95% interval", "measured", "inclusive", "base/call", "head/call", "records", "seen from", "$/day",
	}}
	var notes []string
	shown, left := f.mostCompared(top)
	for _, cmp := range shown {
		notes = append(notes, summary(cmp))
		notes = append(notes, whole(cmp)...)
		for i := range cmp.Methods {
			l := &cmp.Methods[i]
			raised := l.State.Judged() && l.State != judge.NotProven
			if !raised && len(cmp.Methods) > manyLines && top > 0 {
				continue
			}
			t.Rows = append(t.Rows, lineOf(cmp, l, usdOf(cmp.Alerts, l)))
		}
	}
	notes = append(append(notes, left...), f.notCompared(top)...)
	for i := range f.Alerts {
		d.Say(alertLines(&f.Alerts[i])...)
	}
	notes = append(notes, acceptedAndMuted(f.Accepted, f.Silenced)...)
	if basis := alert.BasisOf(f.Alerts); basis != "" {
		notes = append(notes, "$/day: self cost of the head version, less that of the same calls before; "+basis)
	}
	if len(t.Rows) > 0 {
		d.Add(t)
	}
	if len(f.Alerts) == 0 {
		notes = append([]string{f.nothingRaised()}, notes...)
	}
	d.Say(append(notes, f.Warnings...)...)
	return d
}

// mostCompared are the comparisons with an alert and the top of the others, and a line on the rest.
func (f *findings) mostCompared(top int) (shown []*verdict.Comparison, more []string) {
	if top > 0 {
		for _, c := range f.Comparisons {
			if len(c.Alerts) > 0 {
				top++
			}
		}
	}
	shown, left := output.Most(f.Comparisons, top, verdict.AlertsFirst)
	if len(left) == 0 {
		return shown, nil
	}
	methods := 0
	for _, c := range left {
		methods += len(c.Methods)
	}
	return shown, []string{output.More(len(left), fmt.Sprintf("services with %d methods were compared and nothing was raised", methods))}
}

// notCompared lists why services were not compared, of the top of which most was measured.
func (f *findings) notCompared(top int) (lines []string) {
	shown, left := output.Most(f.NotCompared, top, func(a, b verdict.Skip) int { return cmp.Compare(b.Records, a.Records) })
	for _, s := range shown {
		lines = append(lines, fmt.Sprintf("%s: not compared: %s", s.Service, s.Reason))
	}
	if len(left) > 0 {
		lines = append(lines, output.More(len(left), "services were not compared"))
	}
	return lines
}

// nothingRaised returns what follows from no alert.
func (f *findings) nothingRaised() string {
	methods, services := 0, 0
	for _, c := range f.Comparisons {
		for i := range c.Methods {
			if c.Methods[i].State == judge.Undecided {
				methods++
			}
		}
		if c.WholeService != nil && c.WholeService.State == judge.Undecided {
			services++
		}
	}
	switch {
	case methods+services > 0:
		return fmt.Sprintf("could not tell: measured to be more than 20%% more expensive, and not known whether by the version or by its hosts: %d methods, %d whole services", methods, services)
	case f.CouldNotTell:
		return "could not tell: no method could be compared"
	}
	return fmt.Sprintf("no method regressed by more than %g%%", f.Threshold)
}

// alertLines print one alert.
func alertLines(a *alert.Alert) []string {
	about := "id " + a.ID
	if a.Owner != "" {
		about += ", owner " + a.Owner
	}
	if a.KnowableSince != nil {
		about += fmt.Sprintf(", knowable since %s, raised %s", a.KnowableSince.UTC().Format(time.RFC3339), a.RaisedAt.UTC().Format(time.RFC3339))
	}
	if a.Kind == alert.Budget {
		return []string{fmt.Sprintf("%s: %s", a.Severity, a.Reason), about}
	}
	return []string{fmt.Sprintf("%s: %s of %s: %s", a.Severity, a.Name(), a.Service, a.Reason), about}
}

// acceptedAndMuted lists the alerts that are accepted or muted, and why.
func acceptedAndMuted(accepted []delivery.Accepted, silenced []delivery.Silenced) (lines []string) {
	for i := range accepted {
		a := &accepted[i]
		lines = append(lines, fmt.Sprintf("%s of %s, %+.1f%%: %s", a.About(), a.Service, a.ChangePercent, a.Accepted.String()))
	}
	for i := range silenced {
		a := &silenced[i]
		lines = append(lines, fmt.Sprintf("%s of %s, %+.1f%%: muted until %s because %s", a.About(), a.Service, a.ChangePercent, a.Until.UTC().Format(time.RFC3339), a.Reason))
	}
	return lines
}

// whole reports what was found of all methods together, and what weakens the verdicts.
func whole(c *verdict.Comparison) (lines []string) {
	if s := c.WholeService; s != nil {
		lines = append(lines, "  whole service: "+s.Reason)
	}
	for _, w := range c.Warnings {
		lines = append(lines, "  "+w)
	}
	if c.Spreads != nil {
		lines = append(lines, "  "+c.Spreads.String())
	}
	return lines
}

func summary(c *verdict.Comparison) string {
	n := map[judge.VerdictState]int{}
	judged := 0
	for _, l := range c.Methods {
		n[l.State]++
		if l.State.Judged() {
			judged++
		}
	}
	return fmt.Sprintf("%s: version %s against %s (%s) by %s time, clusters: %s: %d methods compared, %d raised, %d more expensive by their callees, "+
		"%d with too few records, %d in too few time buckets, %d new, %d gone",
		c.Service, c.HeadVersion, c.BaseVersion, c.ChosenBy, c.Metric, c.Clusters, judged, n[judge.Regressed], n[judge.Explained],
		n[judge.FewRecords], n[judge.FewBuckets], n[judge.New], n[judge.Gone])
}

var stateNames = map[judge.VerdictState]string{
	judge.Regressed: "REGRESSED", judge.Explained: "by its callees", judge.NotProven: "~",
	judge.Undecided: "not enough data", judge.WithService: "as the service", judge.Pending: "to be confirmed", judge.Moved: "moved", judge.FewRecords: "too few records", judge.FewBuckets: "too few time buckets", judge.New: "new", judge.Gone: "gone",
}

func lineOf(c *verdict.Comparison, l *verdict.Line, usd *float64) []output.Cell {
	change, interval, base, head := output.Unknown, output.Unknown, output.Unknown, output.Unknown
	if l.ChangePercent != nil {
		change = fmt.Sprintf("%+.1f%%", *l.ChangePercent)
		interval = fmt.Sprintf("%+.1f%% to %+.1f%%", l.Interval[0], l.Interval[1])
		base, head = output.NanosOf(&l.BaseNSPerCall), output.NanosOf(&l.HeadNSPerCall)
	}
	state := stateNames[l.State]
	if l.Metric == query.CPU && l.State == judge.FewRecords && l.BaseRecords+l.HeadRecords == 0 {
		if state = "no CPU measured"; l.NotCompared > 0 {
			state = "none compared"
		}
	}
	seen := output.Unknown
	if l.Seen90Percent != nil {
		seen = fmt.Sprintf("%+.1f%%", *l.Seen90Percent)
	}
	measured, inclusive := output.Unknown, output.Unknown
	if l.Measured != nil {
		measured, inclusive = fmt.Sprintf("%+.1f%%", l.Measured.Percent), fmt.Sprintf("%+.1f%%", l.Inclusive.Percent)
	}
	basis := l.Basis
	if basis == "" {
		basis = output.Unknown
	}
	return []output.Cell{
		output.Name(c.Name), output.Name(c.Environment), output.Name(c.BaseVersion), output.Name(c.HeadVersion),
		output.Name(query.FullName(l.Class, l.Method, l.Signature)), output.Name(state), output.Name(string(l.Metric)), output.Name(basis),
		output.Figure(change), output.Figure(interval), output.Figure(measured), output.Figure(inclusive), output.Figure(base), output.Figure(head),
		output.Figure(fmt.Sprintf("%d, %d", l.BaseRecords, l.HeadRecords)), output.Figure(seen), output.Figure(priced(output.AmountOf(usd), c.GenericPrice)),
	}
}
