package findings

import (
	"cmp"
	"fmt"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// manyLines is the maximum number of methods of a comparison that is printed in full.
const manyLines = 30

// Document returns the findings in a format: the services with an alert and, of the others, the top with the most
// measured calls (0 = all). CSV contains all methods.
func (f *Findings) Document(format output.Format, top int) *output.Document {
	switch format {
	case output.CSV:
		return f.records()
	case output.MarkdownPage:
		return f.page(top)
	}
	return f.text(top)
}

func (f *Findings) text(top int) *output.Document {
	d := &output.Document{Data: f}
	var rows []row
	var notes []string
	shown, left := f.mostCompared(top)
	for _, c := range shown {
		notes = append(notes, summary(c))
		notes = append(notes, details(c)...)
		for _, r := range rowsOf(c) {
			if r.State.Judged() && r.State != evidence.NotProven || len(c.Methods) <= manyLines || top == 0 {
				rows = append(rows, r)
			}
		}
	}
	notes = append(append(append(notes, left...), f.notCompared(top)...), f.NotRaised()...)
	f.SayAlerts(d)
	if basis := alert.BasisOf(f.Alerts); basis != "" {
		notes = append(notes, "$/day: self cost of the head version, less that of the same calls before; "+basis)
	}
	if len(rows) > 0 {
		d.Add(f.table(rows))
	}
	if len(f.Alerts) == 0 {
		notes = append([]string{f.nothingRaised()}, notes...)
	}
	d.Say(append(notes, f.Warnings...)...)
	return d
}

func (f *Findings) table(rows []row) *output.Table {
	var c output.Columns[row]
	known := map[string]string{} // accepted and muted alerts
	for i := range f.Accepted {
		known[f.Accepted[i].ID] = "accepted"
	}
	for i := range f.Silenced {
		known[f.Silenced[i].ID] = "silenced"
	}
	change := func(p *evidence.Part) string {
		if p == nil {
			return output.Unknown
		}
		return output.Change(p.Percent)
	}
	c.Plain("service", "environment", "base=base_version", "head=head_version")
	c.Name("method", func(r *row) string { return query.FullName(r.Class, r.Method, r.Signature) })
	c.Name("verdict", func(r *row) string { return cmp.Or(known[r.id], verdictName(r.Verdict)) })
	c.Plain("metric")
	c.Name("basis", func(r *row) string { return cmp.Or(string(r.Basis), output.Unknown) })
	c.Figure("change", func(r *row) string { return output.Known(r.ChangePercent, output.Change) })
	c.Figure("95% interval", func(r *row) string { return output.Interval(r.Interval, output.Change) })
	c.Figure("measured", func(r *row) string { return change(r.Measured) })
	c.Figure("inclusive", func(r *row) string { return change(r.Inclusive) })
	c.Figure("base/call", func(r *row) string { return output.NanosOf(r.Base) })
	c.Figure("head/call", func(r *row) string { return output.NanosOf(r.Head) })
	c.Figure("records", func(r *row) string { return fmt.Sprintf("%d, %d", r.BaseRecords, r.HeadRecords) })
	c.Figure("seen from", func(r *row) string { return output.Known(r.Seen90Percent, output.Change) })
	c.Figure("$/day", func(r *row) string { return output.Priced(r.USD, r.generic) })
	t := c.Table(rows)
	t.Least = []string{"basis", "metric", "measured", "seen from", "records", "base/call", "head/call", "inclusive", "environment"}
	return t
}

// mostCompared returns the comparisons with an alert and the top of the others, and a line about the rest.
func (f *Findings) mostCompared(top int) (shown []*pairs.Comparison, more []string) {
	if top > 0 {
		for _, c := range f.Comparisons {
			top += min(1, len(c.Alerts))
		}
	}
	shown, left := output.Most(f.Comparisons, top, pairs.AlertsFirst)
	methods := 0
	for _, c := range left {
		methods += len(c.Methods)
	}
	return shown, output.More(len(left), fmt.Sprintf("services with %d methods were compared and nothing was raised", methods))
}

// notCompared returns the reasons why services were not compared, for the top with the most measured calls.
func (f *Findings) notCompared(top int) (lines []string) {
	shown, left := output.Most(f.NotCompared, top, func(a, b pairs.Skip) int { return cmp.Compare(b.Records, a.Records) })
	for _, s := range shown {
		lines = append(lines, fmt.Sprintf("%s: not compared: %s", s.Service, s.Reason))
	}
	return append(lines, output.More(len(left), "services were not compared")...)
}

// nothingRaised returns the sentence that is printed if there is no alert.
func (f *Findings) nothingRaised() string {
	methods, services := 0, 0
	for _, c := range f.Comparisons {
		n, _ := statesOf(c)
		methods += n[evidence.Undecided]
		if c.WholeService != nil && c.WholeService.State == evidence.Undecided {
			services++
		}
	}
	switch {
	case methods+services > 0:
		return fmt.Sprintf("could not tell: measured to be more than 20%% more expensive, and not known whether by the version or by its hosts, which more processes of both versions would decide: %d methods, %d whole services", methods, services)
	case f.CouldNotTell:
		return "could not tell: no method could be compared"
	}
	return fmt.Sprintf("no method regressed by more than %g%%", f.Threshold)
}

// details returns the lines on the whole service, the warnings and the spreads of a comparison.
func details(c *pairs.Comparison) (lines []string) {
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

// statesOf counts the methods of a comparison by state; judged is the number of methods with a verdict.
func statesOf(c *pairs.Comparison) (n map[evidence.VerdictState]int, judged int) {
	n = map[evidence.VerdictState]int{}
	for i := range c.Methods {
		n[c.Methods[i].State]++
		if c.Methods[i].State.Judged() {
			judged++
		}
	}
	return n, judged
}

// compared describes the compared service and versions.
func compared(c *pairs.Comparison) string {
	return fmt.Sprintf("%s: version %s against %s (%s) by %s time", c.Service, c.HeadVersion, c.BaseVersion, c.ChosenBy, c.Metric)
}

func summary(c *pairs.Comparison) string {
	n, judged := statesOf(c)
	return fmt.Sprintf("%s, clusters: %s: %d methods compared, %d raised, %d more expensive by their callees, "+
		"%d with too few records, %d in too few time buckets, %d new, %d gone",
		compared(c), c.Clusters, judged, n[evidence.Regressed], n[evidence.Explained],
		n[evidence.FewRecords], n[evidence.FewBuckets], n[evidence.New], n[evidence.Gone])
}

// StateNames are the names of states in text output.
var StateNames = map[evidence.VerdictState]string{
	evidence.Regressed: "REGRESSED", evidence.Explained: "by its callees", evidence.NotProven: "~",
	evidence.Undecided: "not enough data", evidence.WithService: "as the service", evidence.Pending: "to be confirmed", evidence.Moved: "moved", evidence.FewRecords: "too few records", evidence.FewBuckets: "too few time buckets", evidence.New: "new", evidence.Gone: "gone",
}

// verdictName returns the name of a method's state, or a note that its CPU time was not measured.
func verdictName(v *evidence.Verdict) string {
	switch {
	case v.Metric != string(query.CPU) || v.State != evidence.FewRecords || v.BaseRecords+v.HeadRecords > 0:
		return StateNames[v.State]
	case v.NotCompared > 0:
		return "none compared"
	}
	return "no CPU measured"
}
