package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/perday"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/stats"
)

func costDocument(r *cost.Table, c *costFlags) *output.Document {
	d := &output.Document{}
	shown, left := output.First(r.Lines(), c.top.lines)
	d.Say(fmt.Sprintf("cost by %s, %s to %s; observed %s%s",
		dimensions(r.By), output.Time(r.From, c.zone), output.Time(r.To, c.zone), observed(r), scaled(c.unit)),
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

type costColumns struct{ output.Columns[cost.Line] }

// addNames adds the columns that identify lines.
func (c *costColumns) addNames(by []cost.Dimension) {
	has := func(ds ...cost.Dimension) bool {
		return slices.ContainsFunc(ds, func(d cost.Dimension) bool { return slices.Contains(by, d) })
	}
	lines := has(cost.ByMethod, cost.ByClass, cost.ByService, cost.ByVersion, cost.ByCaller)
	if lines {
		c.Name("service", func(l *cost.Line) string { return l.Name })
	}
	if lines || has(cost.ByEnvironment) {
		c.Name("environment", func(l *cost.Line) string { return l.Environment })
	}
	if has(cost.ByVersion) {
		c.Name("version", func(l *cost.Line) string { return l.Version })
	}
	if has(cost.ByOwner) {
		c.Name("owner", func(l *cost.Line) string { return cmp.Or(l.Owner, "(unowned)") })
	}
	if has(cost.ByGroup) {
		c.Name("group", func(l *cost.Line) string { return l.Group })
	}
	if has(cost.ByCaller) {
		c.Name("caller", func(l *cost.Line) string { return l.Caller })
	}
	if has(cost.ByMethod) {
		c.Name("method", func(l *cost.Line) string { return query.FullName(l.Class, l.Method, l.Signature) })
	} else if has(cost.ByClass) {
		c.Name("class", func(l *cost.Line) string { return l.Class })
	}
}

// addDollars adds a column of dollars and, where some lines are of public list prices, one that says which.
func (c *costColumns) addDollars(lines []cost.Line, name string, usd func(*cost.Line) *float64, text func(*cost.Line) string) {
	c.Figure(name, text)
	if !slices.ContainsFunc(lines, func(l cost.Line) bool { return l.GenericPrice }) {
		return
	}
	c.Figure("price", func(l *cost.Line) string {
		if l.GenericPrice && usd(l) != nil {
			return "generic"
		}
		return ""
	})
}

// markOf is the mark of a line's figures.
func markOf(l *cost.Line) string {
	mark := ""
	if l.Uncertain {
		mark = "~"
	}
	if l.Reconciled {
		mark += "r"
	}
	return mark
}

func costTable(r *cost.Table, lines []cost.Line, per cost.Per, percentiles bool) *output.Table {
	c := &costColumns{}
	c.addNames(r.By)
	c.addDollars(lines, "self $/"+string(per), func(l *cost.Line) *float64 { return l.SelfUSD },
		func(l *cost.Line) string { return marked(markOf(l), output.AmountOf(r.For(per, l, l.SelfUSD))) })
	c.Figure("95% interval", func(l *cost.Line) string { return intervalOf(r, l, per) })
	c.Figure("share", func(l *cost.Line) string { return marked(markOf(l), output.PercentOf(l.ShareOfProcessCPU)) })
	c.Figure("incl $/"+string(per), func(l *cost.Line) string { return output.AmountOf(r.For(per, l, l.InclusiveUSD)) })
	c.Figure("self core-h", func(l *cost.Line) string { return marked(markOf(l), output.AmountOf(l.SelfCoreHours)) })
	c.Figure("incl core-h", func(l *cost.Line) string { return output.AmountOf(l.InclusiveCoreHours) })
	if slices.ContainsFunc(lines, func(l cost.Line) bool { return l.SelfWallHours != nil }) {
		c.addWall()
	}
	c.Figure("calls", callsOf)
	c.Whole("instances", func(l *cost.Line) int64 { return l.Instances })
	c.Whole("records", func(l *cost.Line) int64 {
		if l.SelfWallHours != nil {
			return l.Measured
		}
		return l.CPUMeasured
	})
	if r.Groups == nil {
		c.Figure("cpu/call", func(l *cost.Line) string { return output.NanosOf(l.CPUNSPerCall) })
		c.Figure("wall/call", func(l *cost.Line) string { return output.NanosOf(l.WallNSPerCall) })
	}
	if percentiles {
		c.addPercentiles("cpu", func(l *cost.Line) *cost.Percentiles { return l.CPU })
		c.addPercentiles("wall", func(l *cost.Line) *cost.Percentiles { return l.Wall })
	}
	t := c.Table(lines)
	t.Least = []string{"instances", "incl core-h", "records", "self core-h", "incl wall-h", "wall/call", "share", "incl $/" + string(per), "environment"}
	t.Omit(output.Unknown)
	return t
}

// addWall adds the wall time of a line without calls it made, its interval, and all of it.
func (c *costColumns) addWall() {
	c.Figure("self wall-h", func(l *cost.Line) string {
		mark := markOf(l)
		if l.SelfWallClipped {
			mark = "c"
		}
		return marked(mark, output.AmountOf(l.SelfWallHours))
	})
	c.Figure("wall 95%", func(l *cost.Line) string {
		if i := l.SelfWallHoursInterval; i != nil {
			return output.Amount(i[0]) + " to " + output.Amount(i[1])
		}
		return output.Unknown
	})
	c.Figure("incl wall-h", func(l *cost.Line) string { return output.AmountOf(l.InclusiveWallHours) })
}

func (c *costColumns) addPercentiles(of string, percentiles func(*cost.Line) *cost.Percentiles) {
	figure := func(name string, ns func(*cost.Percentiles) float64) {
		c.Figure(of+" "+name, func(l *cost.Line) string {
			if p := percentiles(l); p != nil {
				return output.Nanos(ns(p))
			}
			return output.Unknown
		})
	}
	figure("p50", func(p *cost.Percentiles) float64 { return p.P50 })
	figure("p95", func(p *cost.Percentiles) float64 { return p.P95 })
	figure("p99", func(p *cost.Percentiles) float64 { return p.P99 })
}

func callerTable(r *cost.Table, lines []cost.Line, per cost.Per) *output.Table {
	c := &costColumns{}
	c.addNames(r.By)
	c.addDollars(lines, "incl $/"+string(per), func(l *cost.Line) *float64 { return l.InclusiveUSD },
		func(l *cost.Line) string { return output.AmountOf(r.For(per, l, l.InclusiveUSD)) })
	c.Figure("incl core-h", func(l *cost.Line) string { return output.AmountOf(l.InclusiveCoreHours) })
	if slices.ContainsFunc(lines, func(l cost.Line) bool { return l.InclusiveWallHours != nil }) {
		c.Figure("incl wall-h", func(l *cost.Line) string { return output.AmountOf(l.InclusiveWallHours) })
	}
	c.Figure("calls", callsOf)
	t := c.Table(lines)
	t.Omit(output.Unknown)
	return t
}

// callsOf is how many calls a line has, or how many at least.
func callsOf(l *cost.Line) string {
	if l.AssumedCalls > 0 {
		return ">= " + output.Count(l.Calls)
	}
	return output.Count(l.Calls)
}

// marked puts a mark before a figure, if there is one.
func marked(mark, figure string) string {
	if figure == output.Unknown {
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
		return fmt.Sprintf("below resolution (%s)", output.NanosOf(&l.ResolutionNS))
	case l.SelfUSDLeast != nil:
		return ">= " + output.AmountOf(r.For(per, l, l.SelfUSDLeast))
	case l.SelfCoreHoursLeast != nil:
		return ">= " + output.AmountOf(l.SelfCoreHoursLeast) + " core-h"
	case l.LowerBound && l.SelfCoreHours != nil:
		return l.Warning
	case l.SelfUSDInterval == nil:
		return bounds(l)
	}
	return output.AmountOf(r.For(per, l, &l.SelfUSDInterval[0])) + " to " + output.AmountOf(r.For(per, l, &l.SelfUSDInterval[1]))
}
