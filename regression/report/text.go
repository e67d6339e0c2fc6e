package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// Document returns the content of the page as text tables.
func (r *Report) Document() *output.Document {
	d := &output.Document{Data: r}
	for i := range r.Alerts {
		d.Say(r.Alerts[i].Headline(nil))
	}
	if len(r.Alerts) == 0 {
		d.Say(r.headline())
	}
	d.Say("what methods cost, "+r.window(), r.basis())
	if len(r.Costs) > 0 {
		d.Add(r.costTable())
	} else {
		d.Say(noCosts)
	}
	if len(r.Walls) > 0 {
		d.Say(wallNote)
		d.Add(r.wallTable())
	}
	d.Say(r.Notes...)
	if len(r.Alerts) > 0 {
		d.Add(r.alertTable())
	}
	d.Say(r.compared()...)
	if len(r.Changes) > 0 {
		d.Add(r.changeTable())
	} else {
		d.Say(noChanges)
	}
	d.Say(r.notCompared()...)
	for _, m := range r.Methods {
		d.Add(r.methodTable(m))
	}
	for _, t := range r.Trees {
		d.Add(treeTable(t))
	}
	d.Say(output.More(r.TreesLeft, "trees of services")...)
	d.Say(r.healthVerdict())
	health := &output.Table{Title: "health", Columns: []string{"service", "processes", "dead", "emitted", "stored", "lost", "foreign rows", "unpriced"}}
	services, more := r.Health.Most(r.top)
	for _, s := range services {
		row := []output.Cell{output.Name(s.Service.String())}
		for _, figure := range healthFigures(s) {
			row = append(row, output.Figure(figure))
		}
		health.Rows = append(health.Rows, row)
	}
	d.Add(health)
	d.Say(more...)
	return d
}

// compared lists the pairs of versions that were compared.
func (r *Report) compared() (lines []string) {
	for _, c := range r.Compared {
		lines = append(lines, fmt.Sprintf("%s: version %s against %s, %s", c.Service, c.HeadVersion, c.BaseVersion, c.ChosenBy))
	}
	return append(lines, output.More(r.ComparedLeft, "services were compared")...)
}

// notCompared lists the services that were not compared, with the reason.
func (r *Report) notCompared() []string {
	return slices.Concat(r.NotCompared, output.More(r.NotComparedLeft, "services were not compared"))
}

// leftOut adds the number of lines beyond the limit to the title of a table.
func leftOut(title string, n int, what string) string {
	if n == 0 {
		return title
	}
	return fmt.Sprintf("%s; %d %s are left out", title, n, what)
}

func (r *Report) costTable() *output.Table {
	t := &output.Table{Title: leftOut("own CPU time of methods", r.CostsLeft, "cheaper methods"), Columns: []string{"service", "method", "core hours", "95%", "$", "calls", "records"}}
	for _, c := range r.Costs {
		interval := output.Interval(c.Interval, output.Amount)
		if c.Interval == nil {
			interval = cmp.Or(c.Warning, interval)
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Name(c.Service.String()), output.Name(fullName(c.MethodName)), output.Figure(c.mark() + output.Amount(c.SelfCoreHours)), output.Figure(interval),
			output.Figure(c.usd()), output.Figure(output.Calls(c.Calls, c.AssumedCalls, c.CallsSE)), output.Whole(c.Records),
		})
	}
	return t
}

func (r *Report) wallTable() *output.Table {
	t := &output.Table{Title: leftOut("wall time of methods", r.WallsLeft, "shorter methods"), Columns: []string{"service", "method", "own hours", "95%", "total hours", "calls", "records"}}
	for _, w := range r.Walls {
		t.Rows = append(t.Rows, []output.Cell{
			output.Name(w.Service.String()), output.Name(fullName(w.MethodName)), output.Figure(w.self()), output.Figure(output.Interval(w.Interval, output.Amount)),
			output.Figure(output.Amount(w.InclusiveWallHours)), output.Figure(output.Calls(w.Calls, w.AssumedCalls, w.CallsSE)), output.Whole(w.Records),
		})
	}
	return t
}

func (r *Report) changeTable() *output.Table {
	t := &output.Table{Title: leftOut("version over version, ~ where nothing is proven", r.ChangesLeft, "smaller changes"), Columns: []string{"service", "method", "base", "head", "metric", "change", "interval", "measured, taken off", "records"}, Least: []string{"records", "metric", "measured, taken off"}}
	for _, m := range r.Changes {
		t.Rows = append(t.Rows, []output.Cell{
			output.Name(m.Service.String()), output.Name(query.FullName(m.Class, m.Method, m.Signature)), output.Name(m.BaseVersion), output.Name(m.HeadVersion), output.Name(m.Metric),
			output.Figure(m.change()), output.Figure(output.Interval(m.Interval, output.Change)), output.Figure(m.measured()), output.Figure(m.records()),
		})
	}
	return t
}

func (r *Report) methodTable(m Method) *output.Table {
	t := &output.Table{
		Title:   fmt.Sprintf("%s of %s, %s time of a call", fullName(m.MethodName), m.Service, r.metricName()),
		Columns: []string{"version", "first seen", "last seen", "mean at first", "mean at last", "p50", "p95", "p99", "records"},
	}
	for _, c := range m.History {
		first, last := c.Points[0], c.Points[len(c.Points)-1]
		row := []output.Cell{
			output.Name(c.Version), output.Name(output.Time(first.At, r.zone)), output.Name(output.Time(last.At, r.zone)),
			output.Figure(output.Nanos(first.NS)), output.Figure(output.Nanos(last.NS)),
		}
		quantiles := [3]string{"~", "~", "~"}
		for _, s := range m.Distributions {
			if s.Version == c.Version {
				quantiles = [3]string{output.Nanos(s.quantile(.5)), output.Nanos(s.quantile(.95)), output.Nanos(s.quantile(.99))}
			}
		}
		records := int64(0)
		for _, p := range c.Points {
			records += p.Records
		}
		t.Rows = append(t.Rows, append(row, output.Figure(quantiles[0]), output.Figure(quantiles[1]), output.Figure(quantiles[2]), output.Figure(strconv.FormatInt(records, 10))))
	}
	return t
}

func treeTable(t Tree) *output.Table {
	table := &output.Table{Title: "who calls whom in " + t.String(), Columns: []string{"method", "time", "of the time"}}
	t.each(func(n *Node, level int) {
		table.Rows = append(table.Rows, []output.Cell{
			output.Name(strings.Repeat("· ", level) + n.Name), output.Figure(output.Nanos(n.NS)), output.Figure(output.Share(n.NS / t.TotalNS)),
		})
	})
	return table
}
