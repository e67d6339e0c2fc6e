package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/perday"
	"github.com/corehour/corehour/regression/stats"
)

func costDocument(r *cost.Table, c *costFlags) *output.Document {
	d := &output.Document{}
	shown, left := output.First(r.Lines(), c.top.lines)
	d.Say(fmt.Sprintf("cost by %s, %s to %s; observed %s%s",
		dimensions(r.By), showTime(r.From, c.zone), showTime(r.To, c.zone), observed(r), scaled(c.unit)),
		fmt.Sprintf("%d instances, %d calls with measured CPU", r.Instances, r.Records))
	if !slices.Contains(r.By, cost.ByCaller) {
		if notes := r.Notes(now()); notes != nil {
			d.Say(notes...)
		}
	}
	if slices.Contains(r.By, cost.ByCaller) {
		d.Add(callerTable(r, shown, c.unit))
	} else {
		d.Add(costTable(r, shown, c.unit, c.percentiles))
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
	if notes := r.MarkNotes(shown); notes != nil {
		d.Say(notes...)
	}
	if left > 0 {
		what := "lines"
		if r.Groups == nil {
			what = "methods"
		}
		d.Say(output.More(left, what))
	}
	bills, more := reconciliation(r, c.top.lines)
	if len(bills.Rows) > 0 {
		d.Add(bills)
	}
	if more != "" {
		d.Say(more)
	}
	if notes := r.HostNotes(); notes != nil {
		d.Say(notes...)
	}
	return d
}

// observed is the time that dollars a day are scaled by.
func observed(r *cost.Table) string {
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

// scaled names the unit to which dollars of the observed time are scaled.
func scaled(per cost.Per) string {
	if per == cost.PerDay || per == cost.PerMonth {
		return fmt.Sprintf(", dollars are scaled to a %s", per)
	}
	return ""
}

func dimensions(by []cost.Dimension) string {
	s := string(by[0])
	for _, d := range by[1:] {
		s += ", " + string(d)
	}
	return s
}

// nameColumns are the columns that identify lines, and how to fill them.
func nameColumns(by []cost.Dimension) (names []string, cells func(*cost.Line) []output.Cell) {
	has := func(ds ...cost.Dimension) bool {
		return slices.ContainsFunc(ds, func(d cost.Dimension) bool { return slices.Contains(by, d) })
	}
	var fill []func(*cost.Line) string
	column := func(name string, f func(*cost.Line) string) {
		names, fill = append(names, name), append(fill, f)
	}
	if has(cost.ByMethod, cost.ByClass, cost.ByService, cost.ByVersion, cost.ByCaller) {
		column("service", func(l *cost.Line) string { return l.Name })
	}
	if len(names) > 0 || has(cost.ByEnvironment) {
		column("environment", func(l *cost.Line) string { return l.Environment })
	}
	if has(cost.ByVersion) {
		column("version", func(l *cost.Line) string { return l.Version })
	}
	if has(cost.ByOwner) {
		column("owner", func(l *cost.Line) string {
			if l.Owner == "" {
				return "(unowned)"
			}
			return l.Owner
		})
	}
	if has(cost.ByGroup) {
		column("group", func(l *cost.Line) string { return l.Group })
	}
	if has(cost.ByCaller) {
		column("caller", func(l *cost.Line) string { return l.Caller })
	}
	if has(cost.ByMethod) {
		column("method", func(l *cost.Line) string { return fullName(l.Class, l.Method, l.Signature) })
	} else if has(cost.ByClass) {
		column("class", func(l *cost.Line) string { return l.Class })
	}
	return names, func(l *cost.Line) []output.Cell {
		out := make([]output.Cell, len(fill))
		for i, f := range fill {
			out[i] = output.Name(f(l))
		}
		return out
	}
}

func costTable(r *cost.Table, lines []cost.Line, per cost.Per, percentiles bool) *output.Table {
	names, cells := nameColumns(r.By)
	generic := slices.ContainsFunc(lines, func(l cost.Line) bool { return l.GenericPrice })
	wall := slices.ContainsFunc(lines, func(l cost.Line) bool { return l.SelfWallHours != nil })
	t := &output.Table{Least: []string{"instances", "incl core-h", "records", "self core-h", "incl wall-h", "wall/call", "share", "incl $/" + string(per), "environment"}, Columns: append(names, priceColumn(generic, "self $/"+string(per))...)}
	t.Columns = append(t.Columns, "95% interval", "share", "incl $/"+string(per), "self core-h", "incl core-h")
	if wall {
		t.Columns = append(t.Columns, "self wall-h", "wall 95%", "incl wall-h")
	}
	t.Columns = append(t.Columns, "calls", "instances", "records")
	methods := r.Groups == nil
	if methods {
		t.Columns = append(t.Columns, "cpu/call", "wall/call")
	}
	if percentiles {
		t.Columns = append(t.Columns, "cpu p50", "cpu p95", "cpu p99", "wall p50", "wall p95", "wall p99")
	}
	for i := range lines {
		l := &lines[i]
		mark := ""
		if l.Uncertain {
			mark = "~"
		}
		if l.Reconciled {
			mark += "r"
		}
		row := append(cells(l),
			output.Figure(marked(mark, amount(r.For(per, l, l.SelfUSD)))))
		if generic {
			row = append(row, genericCell(l.GenericPrice && l.SelfUSD != nil))
		}
		row = append(row, output.Figure(intervalOf(r, l, per)),
			output.Figure(marked(mark, percent(l.ShareOfProcessCPU))),
			output.Figure(amount(r.For(per, l, l.InclusiveUSD))),
			output.Figure(marked(mark, amount(l.SelfCoreHours))), output.Figure(amount(l.InclusiveCoreHours)))
		records := l.CPUMeasured
		if wall {
			row = append(row, wallCells(l, mark)...)
			if l.SelfWallHours != nil {
				records = l.Measured
			}
		}
		row = append(row, output.Figure(callsOf(l)), output.Whole(l.Instances), output.Whole(records))
		if methods {
			row = append(row, output.Figure(nanos(l.CPUNSPerCall)), output.Figure(nanos(l.WallNSPerCall)))
		}
		if percentiles {
			row = append(append(row, percentileCells(l.CPU)...), percentileCells(l.Wall)...)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Omit(unknown)
	return t
}

// wallCells are the wall time of a line without calls it made, its interval, and all of it.
func wallCells(l *cost.Line, mark string) []output.Cell {
	if l.SelfWallClipped {
		mark = "c"
	}
	interval := unknown
	if i := l.SelfWallHoursInterval; i != nil {
		interval = output.Amount(i[0]) + " to " + output.Amount(i[1])
	}
	return []output.Cell{output.Figure(marked(mark, amount(l.SelfWallHours))), output.Figure(interval), output.Figure(amount(l.InclusiveWallHours))}
}

// callsOf is how many calls a line has, or how many at least.
func callsOf(l *cost.Line) string {
	if l.AssumedCalls > 0 {
		return ">= " + wholeNumber(l.Calls)
	}
	return wholeNumber(l.Calls)
}

// marked puts a mark before a figure, if there is one.
func marked(mark, figure string) string {
	if figure == unknown {
		return figure
	}
	return mark + figure
}

// intervalOf is that of a line's dollars, in percent where it has none, or why there
// is none to rely on.
func intervalOf(r *cost.Table, l *cost.Line, per cost.Per) string {
	switch {
	case l.SelfCoreHours == nil && l.PendingRecords > 0:
		return l.Why
	case l.BelowResolution:
		return fmt.Sprintf("below resolution (%s)", nanos(&l.ResolutionNS))
	case l.SelfUSDLeast != nil:
		return ">= " + amount(r.For(per, l, l.SelfUSDLeast))
	case l.SelfCoreHoursLeast != nil:
		return ">= " + amount(l.SelfCoreHoursLeast) + " core-h"
	case l.LowerBound && l.SelfCoreHours != nil:
		return l.Warning
	case l.SelfUSDInterval == nil:
		return bounds(l)
	}
	return amount(r.For(per, l, &l.SelfUSDInterval[0])) + " to " + amount(r.For(per, l, &l.SelfUSDInterval[1]))
}

func percentileCells(p *cost.Percentiles) []output.Cell {
	if p == nil {
		return []output.Cell{output.Figure(unknown), output.Figure(unknown), output.Figure(unknown)}
	}
	return []output.Cell{output.Figure(output.Nanos(p.P50)), output.Figure(output.Nanos(p.P95)), output.Figure(output.Nanos(p.P99))}
}

func callerTable(r *cost.Table, lines []cost.Line, per cost.Per) *output.Table {
	names, cells := nameColumns(r.By)
	generic := slices.ContainsFunc(lines, func(l cost.Line) bool { return l.GenericPrice })
	wall := slices.ContainsFunc(lines, func(l cost.Line) bool { return l.InclusiveWallHours != nil })
	t := &output.Table{Columns: append(append(names, priceColumn(generic, "incl $/"+string(per))...), "incl core-h")}
	if wall {
		t.Columns = append(t.Columns, "incl wall-h")
	}
	t.Columns = append(t.Columns, "calls")
	for i := range lines {
		l := &lines[i]
		row := append(cells(l), output.Figure(amount(r.For(per, l, l.InclusiveUSD))))
		if generic {
			row = append(row, genericCell(l.GenericPrice && l.InclusiveUSD != nil))
		}
		row = append(row, output.Figure(amount(l.InclusiveCoreHours)))
		if wall {
			row = append(row, output.Figure(amount(l.InclusiveWallHours)))
		}
		t.Rows = append(t.Rows, append(row, output.Figure(callsOf(l))))
	}
	t.Omit(unknown)
	return t
}

// priceColumn is a column of dollars and, where some are of public list prices, one that says
// which.
func priceColumn(generic bool, usd string) []string {
	if generic {
		return []string{usd, "price"}
	}
	return []string{usd}
}

func genericCell(generic bool) output.Cell {
	if generic {
		return output.Figure("generic")
	}
	return output.Figure("")
}

// priced marks an amount that is of a public list price.
func priced(amount string, generic bool) string {
	if generic && amount != unknown {
		return amount + " generic"
	}
	return amount
}
