package findings

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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
func (f *Findings) Document(v output.View) *output.Document {
	switch v.Format {
	case output.CSV:
		return f.records()
	case output.MarkdownPage:
		return f.page(v.Top)
	}
	return f.text(v)
}

// text returns the alerts, a table of the methods that changed, and one line per service. With v.Verbose it returns all
// methods and the evidence.
func (f *Findings) text(v output.View) *output.Document {
	d := &output.Document{Data: f}
	var rows []row
	var notes []string
	shown, left := f.mostCompared(v.Top)
	for _, c := range shown {
		if v.Verbose {
			notes = append(notes, summary(c))
			notes = append(notes, details(c)...)
		} else {
			notes = append(notes, f.oneLine(c))
		}
		for _, r := range rowsOf(c) {
			if r.State.Judged() && r.State != evidence.NotProven || v.Verbose && (len(c.Methods) <= manyLines || v.Top == 0) {
				rows = append(rows, r)
			}
		}
	}
	notes = append(append(append(notes, left...), f.notCompared(v.Top)...), f.NotRaised()...)
	f.SayAlerts(d, v.Verbose)
	if len(rows) > 0 {
		d.Add(f.table(rows, v.Verbose || v.Wide))
	}
	if len(f.Alerts) == 0 && (v.Verbose || f.undecided() || f.CouldNotTell) {
		notes = append([]string{f.nothingRaised()}, notes...)
	}
	d.Say(notes...)
	var caveats []string
	if basis := alert.BasisOf(f.Alerts); basis != "" {
		caveats = append(caveats, "$/day: self cost of the head version, less that of the same calls before; "+basis)
	}
	for _, c := range shown {
		caveats = append(caveats, c.Open(v.Top)...)
	}
	if !v.Verbose {
		caveats = append(caveats, f.caveats(shown)...)
	}
	caveats = append(caveats, f.Warnings...)
	if !v.Verbose && len(rows) > 0 {
		caveats = append(caveats, "the evidence: --verbose, or corehour explain METHOD")
	}
	d.Say(caveats...)
	return d
}

// caveats returns each warning of the comparisons once, with its services if not all have it.
func (f *Findings) caveats(shown []*pairs.Comparison) (lines []string) {
	var texts []string
	services := map[string][]string{}
	for _, c := range shown {
		for _, w := range c.Warnings {
			if services[w] == nil {
				texts = append(texts, w)
			}
			services[w] = append(services[w], c.Service.String())
		}
	}
	for _, w := range texts {
		switch of := services[w]; {
		case len(of) == len(f.Comparisons):
			lines = append(lines, w)
		case len(of) > 3:
			lines = append(lines, fmt.Sprintf("%d services: %s", len(of), w))
		default:
			lines = append(lines, strings.Join(of, ", ")+": "+w)
		}
	}
	return lines
}

// oneLine returns the verdict on a service: its regressions, its methods, and the changes that can be missed.
func (f *Findings) oneLine(c *pairs.Comparison) string {
	_, judged := statesOf(c)
	parts := []string{"no regression", output.Several(int64(judged), "method")}
	raised := int64(0)
	for i := range f.Alerts {
		if a := &f.Alerts[i]; a.Service == c.Name && a.ServiceNamespace == c.Namespace && a.Environment == c.Environment {
			raised++
		}
	}
	switch {
	case raised > 0:
		parts[0] = output.Several(raised, "regression")
	case len(c.Alerts) > 0:
		parts[0] = "no new regression"
	case !c.Conclusive():
		parts[0] = "not enough data"
	}
	if c.Metric == query.Wall {
		parts[1] += " by wall time"
	}
	names := map[string]int{}
	for i := range c.Methods {
		if v := &c.Methods[i]; v.State != evidence.Regressed && v.State != evidence.NotProven {
			names[verdictName(v)]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		parts[1] += fmt.Sprintf(", %d %s", names[name], name)
		if name == StateNames[evidence.FewRecords] {
			parts[1] += waits(c)
		}
	}
	if missed := missable(c); missed != "" {
		parts = append(parts, missed)
	}
	return fmt.Sprintf("%s %s: %s", c.Service, c.HeadVersion, strings.Join(parts, "; "))
}

// waits describes the time until methods with too few records have enough.
func waits(c *pairs.Comparison) string {
	soonest, latest := math.Inf(1), 0.0
	records := int64(0)
	for i := range c.Methods {
		if v := &c.Methods[i]; v.State == evidence.FewRecords && v.Needed != nil && v.Needed.Minutes > 0 {
			soonest, latest, records = min(soonest, v.Needed.Minutes), max(latest, v.Needed.Minutes), v.Needed.Records
		}
	}
	if latest == 0 {
		return ""
	}
	in := evidence.Wait(soonest)
	if to := evidence.Wait(latest); to != in {
		in += " to " + to
	}
	return fmt.Sprintf(" (%d of each version in %s)", records, in)
}

// missable describes the changes that the comparison can miss: below those that are seen with 90% probability.
func missable(c *pairs.Comparison) string {
	var seen []float64
	for i := range c.Methods {
		if v := &c.Methods[i]; v.State.Judged() && v.Seen90Percent != nil {
			seen = append(seen, *v.Seen90Percent)
		}
	}
	if len(seen) == 0 {
		return ""
	}
	best, worst := output.RoundChange(slices.Min(seen)), output.RoundChange(slices.Max(seen))
	if best == worst {
		return fmt.Sprintf("changes under %s can be missed", worst)
	}
	if slices.Max(seen) > 900 && slices.Min(seen) <= 900 { // below ten times the cost
		return fmt.Sprintf("changes under %s can be missed, in some methods any", best)
	}
	return fmt.Sprintf("changes under %s to %s can be missed, by method", best, worst)
}

// table returns the rows with the columns that most readers need, or all.
func (f *Findings) table(rows []row, all bool) *output.Table {
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
	c.Plain("service")
	if all {
		c.Plain("environment", "base=base_version", "head=head_version")
	}
	c.Name("method", func(r *row) string { return query.FullName(r.Class, r.Method, r.Signature) })
	c.Name("verdict", func(r *row) string { return cmp.Or(known[r.id], verdictName(r.Verdict)) })
	if all {
		c.Plain("metric")
		c.Name("basis", func(r *row) string { return cmp.Or(string(r.Basis), output.Unknown) })
	}
	c.Figure("change", func(r *row) string { return output.Known(r.ChangePercent, output.Change) })
	c.Figure("95% interval", func(r *row) string { return output.Interval(r.Interval, output.Change) })
	if all {
		c.Figure("measured", func(r *row) string { return change(r.Measured) })
	}
	c.Figure("inclusive", func(r *row) string { return change(r.Inclusive) })
	c.Figure("before", func(r *row) string { return output.NanosOf(r.Base) })
	c.Figure("after", func(r *row) string { return output.NanosOf(r.Head) })
	if all {
		c.Figure("records", func(r *row) string { return fmt.Sprintf("%d, %d", r.BaseRecords, r.HeadRecords) })
		c.Figure("seen from", func(r *row) string { return output.Known(r.Seen90Percent, output.Change) })
	}
	c.Figure("$/day", func(r *row) string { return output.Priced(r.USD, r.generic) })
	t := c.Table(rows)
	t.Omit(output.Unknown)
	t.Least = []string{"basis", "metric", "measured", "seen from", "records", "inclusive", "environment"}
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
	switch {
	case f.undecided():
		return "could not tell: " + f.undecidedText()
	case f.CouldNotTell:
		return "could not tell: no method could be compared"
	}
	return fmt.Sprintf("no method regressed by more than %g%%", f.Threshold)
}

// undecided reports whether a method or a service is measured to be more expensive without a verdict.
func (f *Findings) undecided() bool { return f.undecidedText() != "" }

func (f *Findings) undecidedText() string {
	methods, services, doubtful := 0, 0, 0
	for _, c := range f.Comparisons {
		n, _ := statesOf(c)
		methods += n[evidence.Undecided]
		doubtful += n[evidence.NotDistinguishable] + len(c.Doubtful)
		if c.WholeService != nil && c.WholeService.State == evidence.Undecided {
			services++
		}
		if c.WholeService != nil && c.WholeService.State == evidence.NotDistinguishable {
			doubtful++
		}
	}
	var of []string
	if methods > 0 {
		of = append(of, output.Several(int64(methods), "method"))
	}
	if services > 0 {
		of = append(of, output.Several(int64(services), "whole service"))
	}
	var parts []string
	if len(of) > 0 {
		parts = append(parts, strings.Join(of, " and ")+" measured to be more than 20% more expensive, by the version or by its hosts")
	}
	if doubtful > 0 {
		parts = append(parts, output.Several(int64(doubtful), "change")+" with enough evidence for an alert, not distinguishable from another cause: see the reason of each")
	}
	return strings.Join(parts, "; ")
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
	return fmt.Sprintf("%s, clusters: %s: %s compared, %d raised, %d more expensive by their callees, "+
		"%d with too few records, %d in too few time buckets, %d new, %d gone",
		compared(c), c.Clusters, output.Several(int64(judged), "method"), n[evidence.Regressed], n[evidence.Explained],
		n[evidence.FewRecords], n[evidence.FewBuckets], n[evidence.New], n[evidence.Gone])
}

// StateNames are the names of states in text output.
var StateNames = map[evidence.VerdictState]string{
	evidence.Regressed: "REGRESSED", evidence.Explained: "by its callees", evidence.NotProven: "~",
	evidence.Undecided: "not enough data", evidence.NotDistinguishable: "not distinguishable", evidence.Small: "below --min-share", evidence.WithService: "as the service", evidence.Pending: "to be confirmed", evidence.Moved: "moved", evidence.FewRecords: "too few records", evidence.FewBuckets: "too few time buckets", evidence.New: "new", evidence.Gone: "gone",
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
