package cost

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/perday"
	"github.com/corehour/corehour/regression/stats"
)

// View configures how costs are printed.
type View struct {
	Per         Per // unit of dollars
	Percentiles bool
	Top         int // lines, and bills of services; 0 = all
	Zone        *time.Location
	Now         time.Time
}

// Document prints costs in a format. CSV has all lines.
func (r *Table) Document(format output.Format, v View) *output.Document {
	if format == output.CSV {
		return r.records()
	}
	d := &output.Document{}
	lines := slices.Clone(r.Lines())
	r.sortLines(lines, v.Per)
	shown, left := output.First(lines, v.Top)
	scaled, measured := v.Per.scaled(), output.Several(r.Records, "call")+" with measured CPU"
	if timed := r.wallCalls(); timed > 0 {
		scaled, measured = "", output.Several(timed, "timed call")+"; wall time only: no CPU was sent"
	}
	d.Say(fmt.Sprintf("cost by %s, %s to %s; ran for %s%s",
		strings.Join(names(r.By), ", "), output.Time(r.From, v.Zone), output.Time(r.To, v.Zone), r.ran(), scaled),
		output.Several(r.Instances, "instance")+", "+measured)
	if slices.Contains(r.By, ByCaller) {
		d.Add(r.callerTable(shown, v.Per))
	} else {
		d.Say(r.notes(v.Now)...)
		d.Add(r.lineTable(shown, v))
	}
	for _, warning := range []stats.Warning{stats.LowerBound, stats.LowerBoundCPU} {
		n := 0
		for i := range shown {
			if shown[i].Warning == string(warning) {
				n++
			}
		}
		if n > 0 {
			d.Say(fmt.Sprintf(">= %s: %d of the lines above", warning, n))
		}
	}
	d.Say(append(uncertainNotes(shown), r.markNotes(shown)...)...)
	what := "lines"
	if r.Groups == nil {
		what = "methods"
	}
	d.Say(output.More(left, what)...)
	bills, more := r.reconciliation(v.Top)
	if len(bills.Rows) > 0 {
		d.Add(bills)
	}
	d.Say(more...)
	d.Say(r.hostNotes()...)
	return d
}

// wallCalls returns the number of timed calls of services that sent no CPU time, 0 if there is a call with CPU time.
func (r *Table) wallCalls() (timed int64) {
	if r.Records > 0 {
		return 0
	}
	for _, l := range r.Lines() {
		timed += l.Measured
	}
	return timed
}

// ran returns the time that dollars per day are scaled by.
func (r *Table) ran() string {
	days := func(days float64) string {
		return perday.Basis{Length: time.Duration(days * 24 * float64(time.Hour))}.Text()
	}
	least := r.ObservedDays
	for i := range r.Services {
		least = min(least, r.Services[i].ObservedDays)
	}
	if shortest, longest := days(least), days(r.ObservedDays); shortest != longest {
		return fmt.Sprintf("%s to %s, by service", shortest, longest)
	}
	return days(r.ObservedDays)
}

// scaled describes the unit that dollars are scaled to.
func (per Per) scaled() string {
	if per == PerDay || per == PerMonth {
		return fmt.Sprintf(", dollars are scaled to a %s", per)
	}
	return ""
}

// reconciliation returns the bills of the top services that pay most (0 = all). more describes the rest.
func (r *Table) reconciliation(top int) (t *output.Table, more []string) {
	type bill struct {
		*Service
		BillLine
	}
	var bills []bill
	services, others, hours, usd := r.mostPaid(top)
	for _, s := range services {
		for _, l := range s.billLines() {
			bills = append(bills, bill{s, l})
		}
	}
	var c output.Columns[bill]
	c.Plain("service", "environment")
	c.Name("line", func(b *bill) string { return b.What })
	c.Figure("core-h", func(b *bill) string { return output.AmountOf(b.CoreHours) })
	c.Figure("$", func(b *bill) string { return output.Priced(b.USD, b.GenericPrice) })
	c.Figure("of the bill", func(b *bill) string { return output.PercentOf(b.Share) })
	c.Figure("calls", func(b *bill) string {
		if b.Calls == nil {
			return ""
		}
		return output.Count(*b.Calls)
	})
	t = c.Table(bills)
	t.Title = "how it adds up"
	return t, output.More(others, fmt.Sprintf("services pay %s core-h, $%s, together", output.AmountOf(hours), output.AmountOf(usd)))
}
