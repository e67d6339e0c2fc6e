package cost

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

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
	self := func(l *Line) *float64 { return l.SelfCoreHours }
	hours := hoursFor(lines, self)
	c := &lineColumns{}
	c.addNames(r.By)
	c.addDollars(lines, "self $/"+per.column(), func(l *Line) *float64 { return l.SelfUSD },
		func(l *Line) string { return marked(l.mark(), output.AmountOf(r.shownPer(per, l, l.SelfUSD))) })
	c.Figure("95% interval", func(l *Line) string { return r.intervalOf(l, per) })
	c.Figure("share of CPU", func(l *Line) string { return marked(l.mark(), output.PercentOf(l.ShareOfProcessCPU)) })
	c.Figure("incl $/"+per.column(), func(l *Line) string { return output.AmountOf(r.shownPer(per, l, l.InclusiveUSD)) })
	longest := 0.0
	for i := range lines {
		longest = max(longest, lines[i].days)
	}
	if per.scaled() != "" && slices.ContainsFunc(lines, func(l Line) bool { return l.days < longest/2 }) {
		c.Figure("ran for", func(l *Line) string { // the dollars of a job that ran once are those of a whole day
			if of, one := strings.CutPrefix(l.USDPerDayBasis, "ran for "); one {
				return of
			}
			return output.Unknown
		})
	}
	c.Figure("self core-"+hours.name, func(l *Line) string { return marked(l.mark(), hours.text(l.SelfCoreHours)) })
	c.Figure("incl core-"+hours.name, func(l *Line) string { return hours.text(l.InclusiveCoreHours) })
	if slices.ContainsFunc(lines, func(l Line) bool { return l.SelfWallHours != nil }) {
		c.addWall(lines)
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
	t.Least = []string{"instances", "incl core-" + hours.name, "records", "self core-" + hours.name, "incl wall-h", "incl wall-s", "incl wall-ms", "wall/call", "share of CPU", "incl $/" + per.column(), "environment"}
	t.Omit("", output.Unknown)
	return t
}

// addWall adds columns for self wall time, its interval and inclusive wall time.
func (c *lineColumns) addWall(lines []Line) {
	hours := hoursFor(lines, func(l *Line) *float64 { return l.InclusiveWallHours })
	c.Figure("self wall-"+hours.name, func(l *Line) string {
		mark := l.mark()
		if l.SelfWallClipped {
			mark = "c"
		}
		return marked(mark, hours.text(l.SelfWallHours))
	})
	c.Figure("wall 95%", func(l *Line) string {
		return output.Interval(l.SelfWallHoursInterval, func(x float64) string { return hours.text(&x) })
	})
	c.Figure("incl wall-"+hours.name, func(l *Line) string { return hours.text(l.InclusiveWallHours) })
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
	c.addDollars(lines, "incl $/"+per.column(), func(l *Line) *float64 { return l.InclusiveUSD },
		func(l *Line) string { return output.AmountOf(r.shownPer(per, l, l.InclusiveUSD)) })
	core, wall := func(l *Line) *float64 { return l.InclusiveCoreHours }, func(l *Line) *float64 { return l.InclusiveWallHours }
	coreHours, wallHours := hoursFor(lines, core), hoursFor(lines, wall)
	c.Figure("incl core-"+coreHours.name, func(l *Line) string { return coreHours.text(core(l)) })
	c.Figure("incl wall-"+wallHours.name, func(l *Line) string { return wallHours.text(wall(l)) })
	c.Figure("calls", (*Line).CallsText)
	t := c.Table(lines)
	t.Omit("", output.Unknown)
	return t
}

// hourUnit is a unit of a column of hours that fits its figures.
type hourUnit struct {
	name string
	per  float64 // units in an hour
}

// hoursFor returns the unit that fits the largest figure: hours, seconds or milliseconds.
func hoursFor(lines []Line, figure func(*Line) *float64) hourUnit {
	most := 0.0
	for i := range lines {
		if x := figure(&lines[i]); x != nil {
			most = max(most, math.Abs(*x))
		}
	}
	switch {
	case most == 0 || most >= 0.01:
		return hourUnit{"h", 1}
	case most*3600 >= 0.1:
		return hourUnit{"s", 3600}
	default:
		return hourUnit{"ms", 3.6e6}
	}
}

func (u hourUnit) text(hours *float64) string {
	return output.Known(hours, func(x float64) string { return output.Amount(x * u.per) })
}

// CallsText returns the number of calls.
func (l *Line) CallsText() string { return output.Calls(l.Calls, l.AssumedCalls, l.CallsSE) }

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
		return output.Known(r.shownPer(per, l, l.SelfUSDLeast), func(least float64) string { return ">= " + output.Amount(least) })
	case l.SelfCoreHoursLeast != nil:
		return ">= " + output.AmountOf(l.SelfCoreHoursLeast) + " core-h"
	case l.Warning != "" && l.SelfCoreHours != nil:
		return output.Unknown // a note gives the reason
	case l.SelfUSDInterval == nil:
		return l.SelfBounds()
	}
	low, high := r.shownPer(per, l, &l.SelfUSDInterval[0]), r.shownPer(per, l, &l.SelfUSDInterval[1])
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
	share := func(x float64) string { return output.Change(100 * (x / *l.SelfCoreHours - 1)) }
	return share(l.SelfCoreHoursInterval[0]) + " to " + share(l.SelfCoreHoursInterval[1])
}
