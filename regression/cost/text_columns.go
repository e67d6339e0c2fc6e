package cost

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// lineColumns are the columns of tables of lines.
type lineColumns struct{ output.Columns[Line] }

// addNames adds the columns that identify lines.
func (c *lineColumns) addNames(by []Dimension) {
	has := func(ds ...Dimension) bool {
		return slices.ContainsFunc(ds, func(d Dimension) bool { return slices.Contains(by, d) })
	}
	lines := has(ByMethod, ByClass, ByService, ByVersion, ByCaller)
	if lines {
		c.Plain("service")
	}
	if lines || has(ByEnvironment) {
		c.Plain("environment")
	}
	if has(ByVersion) {
		c.Plain("version")
	}
	if has(ByOwner) {
		c.Name("owner", func(l *Line) string { return cmp.Or(l.Owner, "(unowned)") })
	}
	if has(ByGroup) {
		c.Plain("group")
	}
	if has(ByCaller) {
		c.Plain("caller")
	}
	if has(ByMethod) {
		c.Name("method", func(l *Line) string { return query.FullName(l.Class, l.Method, l.Signature) })
	} else if has(ByClass) {
		c.Plain("class")
	}
}

// addDollars adds a column of dollars. If some lines use public list prices it also adds a column that marks
// them.
func (c *lineColumns) addDollars(lines []Line, name string, usd func(*Line) *float64, text func(*Line) string) {
	c.Figure(name, text)
	if !slices.ContainsFunc(lines, func(l Line) bool { return l.GenericPrice }) {
		return
	}
	c.Figure("price", func(l *Line) string {
		if l.GenericPrice && usd(l) != nil {
			return "generic"
		}
		return ""
	})
}

// mark returns the mark of the line's figures.
func (l *Line) mark() string {
	mark := ""
	if l.Uncertain {
		mark = "~"
	}
	if l.Reconciled {
		mark += "r"
	}
	return mark
}

func (r *Table) lineTable(lines []Line, v View) *output.Table {
	per := v.Per
	c := &lineColumns{}
	c.addNames(r.By)
	c.addDollars(lines, "self $/"+string(per), func(l *Line) *float64 { return l.SelfUSD },
		func(l *Line) string { return marked(l.mark(), output.AmountOf(r.dollarsPer(per, l, l.SelfUSD))) })
	c.Figure("95% interval", func(l *Line) string { return r.intervalOf(l, per) })
	c.Figure("share", func(l *Line) string { return marked(l.mark(), output.PercentOf(l.ShareOfProcessCPU)) })
	c.Figure("incl $/"+string(per), func(l *Line) string { return output.AmountOf(r.dollarsPer(per, l, l.InclusiveUSD)) })
	c.Figure("self core-h", func(l *Line) string { return marked(l.mark(), output.AmountOf(l.SelfCoreHours)) })
	c.Figure("incl core-h", func(l *Line) string { return output.AmountOf(l.InclusiveCoreHours) })
	if slices.ContainsFunc(lines, func(l Line) bool { return l.SelfWallHours != nil }) {
		c.addWall()
	}
	c.Figure("calls", (*Line).CallsText)
	c.Plain("instances")
	c.Whole("records", func(l *Line) int64 {
		if l.SelfWallHours != nil {
			return l.Measured
		}
		return l.CPUMeasured
	})
	if r.Groups == nil {
		c.Figure("cpu/call", func(l *Line) string { return output.NanosOf(l.CPUNSPerCall) })
		c.Figure("wall/call", func(l *Line) string { return output.NanosOf(l.WallNSPerCall) })
	}
	if v.Percentiles {
		c.addPercentiles("cpu", func(l *Line) *Percentiles { return l.CPU })
		c.addPercentiles("wall", func(l *Line) *Percentiles { return l.Wall })
	}
	t := c.Table(lines)
	t.Least = []string{"instances", "incl core-h", "records", "self core-h", "incl wall-h", "wall/call", "share", "incl $/" + string(per), "environment"}
	t.Omit(output.Unknown)
	return t
}

// addWall adds columns for self wall time, its interval and inclusive wall time.
func (c *lineColumns) addWall() {
	c.Figure("self wall-h", func(l *Line) string {
		mark := l.mark()
		if l.SelfWallClipped {
			mark = "c"
		}
		return marked(mark, output.AmountOf(l.SelfWallHours))
	})
	c.Figure("wall 95%", func(l *Line) string { return output.Interval(l.SelfWallHoursInterval, output.Amount) })
	c.Figure("incl wall-h", func(l *Line) string { return output.AmountOf(l.InclusiveWallHours) })
}

func (c *lineColumns) addPercentiles(of string, percentiles func(*Line) *Percentiles) {
	figure := func(name string, ns func(*Percentiles) float64) {
		c.Figure(of+" "+name, func(l *Line) string {
			if p := percentiles(l); p != nil {
				return output.Nanos(ns(p))
			}
			return output.Unknown
		})
	}
	figure("p50", func(p *Percentiles) float64 { return p.P50 })
	figure("p95", func(p *Percentiles) float64 { return p.P95 })
	figure("p99", func(p *Percentiles) float64 { return p.P99 })
}

func (r *Table) callerTable(lines []Line, per Per) *output.Table {
	c := &lineColumns{}
	c.addNames(r.By)
	c.addDollars(lines, "incl $/"+string(per), func(l *Line) *float64 { return l.InclusiveUSD },
		func(l *Line) string { return output.AmountOf(r.dollarsPer(per, l, l.InclusiveUSD)) })
	c.Figure("incl core-h", func(l *Line) string { return output.AmountOf(l.InclusiveCoreHours) })
	if slices.ContainsFunc(lines, func(l Line) bool { return l.InclusiveWallHours != nil }) {
		c.Figure("incl wall-h", func(l *Line) string { return output.AmountOf(l.InclusiveWallHours) })
	}
	c.Figure("calls", (*Line).CallsText)
	t := c.Table(lines)
	t.Omit(output.Unknown)
	return t
}

// CallsText returns the number of calls, with ">= " if it is a lower bound.
func (l *Line) CallsText() string {
	if l.AssumedCalls > 0 {
		return ">= " + output.Count(l.Calls)
	}
	return output.Count(l.Calls)
}

// marked prefixes a known figure with a mark.
func marked(mark, figure string) string {
	if figure == output.Unknown {
		return figure
	}
	return mark + figure
}

// intervalOf returns the interval of the line's dollars, in percent if it has no dollars, or the reason why
// there is none.
func (r *Table) intervalOf(l *Line, per Per) string {
	switch {
	case l.SelfCoreHours == nil && l.PendingRecords > 0:
		return l.Why
	case l.BelowResolution:
		return fmt.Sprintf("below resolution (%s)", output.NanosOf(&l.ResolutionNS))
	case l.SelfUSDLeast != nil:
		return output.Known(r.dollarsPer(per, l, l.SelfUSDLeast), func(least float64) string { return ">= " + output.Amount(least) })
	case l.SelfCoreHoursLeast != nil:
		return ">= " + output.AmountOf(l.SelfCoreHoursLeast) + " core-h"
	case l.LowerBound && l.SelfCoreHours != nil:
		return l.Warning
	case l.SelfUSDInterval == nil:
		return l.SelfBounds()
	}
	low, high := r.dollarsPer(per, l, &l.SelfUSDInterval[0]), r.dollarsPer(per, l, &l.SelfUSDInterval[1])
	if low == nil || high == nil {
		return output.Unknown
	}
	return output.Amount(*low) + " to " + output.Amount(*high)
}

// SelfBounds returns the interval of the self cost as percentages of it.
func (l *Line) SelfBounds() string {
	if l.SelfCoreHoursInterval == nil || !(*l.SelfCoreHours > 0) {
		return output.Unknown
	}
	share := func(x float64) string {
		if share := 100 * (x / *l.SelfCoreHours - 1); math.Abs(share) <= 999 {
			return output.Change(share)
		} else if share > 0 {
			return ">+999%"
		}
		return "<-999%"
	}
	return share(l.SelfCoreHoursInterval[0]) + " " + share(l.SelfCoreHoursInterval[1])
}
