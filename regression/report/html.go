package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"breakable": breakable}).Parse(pageText))

// separators adds a line break opportunity after each separator of a name.
var separators = strings.NewReplacer("/", "/<wbr>", ".", ".<wbr>")

// breakable returns a name as HTML that breaks between its parts, where the line is too short for it.
func breakable(name string) template.HTML {
	return template.HTML(separators.Replace(template.HTMLEscapeString(name)))
}

// pageData is the input of the template: finished texts and charts.
type pageData struct {
	Window, Basis, Made, Warehouse, Caption, Metric string

	// Raised are the headlines of the alerts; without any, Headline is the verdict.
	Raised   []string
	Headline string
	Prefix   string // of packages, cut from the names of methods

	Costs     []costLine
	CostsLeft int
	NoCosts   string

	Walls     []wallLine
	WallsLeft int
	WallNote  string

	Alerts     []alertLine
	AlertsLeft int

	Changes, Folded         []changeLine // raised and other ones
	ChangesLeft             int
	ChangesLow, ChangesHigh string
	NoChanges               string
	Compared, NotCompared   []string
	Notes                   []string

	Methods   []methodPart
	Trees     []treePart
	TreesLeft []string

	Balanced   bool
	Verdict    string
	Health     []healthLine
	HealthLeft []string
	Losses     []string

	Palette []int
}

// changeTable is a table of changes on one scale.
type changeTable struct {
	Low, High string
	Lines     []changeLine
}

// FoldedCount returns the number of folded changes. The template calls it.
func (d *pageData) FoldedCount() string {
	return output.Several(int64(len(d.Folded)), "method") + " with nothing raised"
}

// ChangeTable returns the lines as a table. The template calls it.
func (d *pageData) ChangeTable(lines []changeLine) changeTable {
	return changeTable{d.ChangesLow, d.ChangesHigh, lines}
}

type costLine struct {
	Name, Full, Service, CoreHours, USD, Calls, Records string
	Warning                                             string
	Bar                                                 template.HTML
}

type wallLine struct{ Name, Full, Service, Self, Interval, Total, Calls, Records string }

type changeLine struct {
	Name, Full, Service, Versions, Change, Interval, Measured, Reason, Records string
	Proven                                                                     bool
	Bar                                                                        template.HTML
}

type methodPart struct {
	Name, Full, Service, Caption string
	Raised                       bool
	Versions                     []versionLine
	Distribution, History        template.HTML
	Points                       []pointLine
}

type versionLine struct {
	Class               int
	Sign, Version, Text string
}

type pointLine struct{ At, Version, Mean, Interval, Records string }

type treePart struct {
	Service string
	Chart   template.HTML
	Lines   []treeLine
}

type treeLine struct {
	Indent            int
	Name, Time, Share string
}

type healthLine struct {
	Service string
	Figures []string
}

// WriteHTML writes the page to w.
func (r *Report) WriteHTML(w io.Writer) error {
	d := pageData{
		Window: r.window(), Basis: r.basis(), Made: output.Time(r.Made, r.zone), Warehouse: output.Printable(r.Warehouse), Metric: r.metricName(),
		Caption: r.window() + "; " + r.basis(), CostsLeft: r.CostsLeft, ChangesLeft: r.ChangesLeft, Alerts: r.alertLines(), AlertsLeft: r.AlertsLeft,
		NoCosts: noCosts, WallsLeft: r.WallsLeft, WallNote: wallNote, NoChanges: noChanges, Compared: printable(r.compared()), NotCompared: printable(r.notCompared()), Notes: printable(r.Notes),
		Balanced: r.Health.Balanced, Verdict: output.Printable(r.healthVerdict()),
	}
	d.Prefix = r.commonPath()
	short := func(name string) string { return strings.TrimPrefix(name, d.Prefix) }
	for i := range r.Alerts {
		d.Raised = append(d.Raised, output.Printable(r.Alerts[i].Headline(nil)))
	}
	d.Headline = r.headline()
	for i := range d.Alerts {
		d.Alerts[i].Name = short(d.Alerts[i].Name)
	}
	for i := range maxVersions {
		d.Palette = append(d.Palette, i)
	}
	most := 0.0
	for _, c := range r.Costs {
		most = max(most, c.high())
	}
	for _, c := range r.Costs {
		d.Costs = append(d.Costs, costLine{
			Name: short(fullName(c.MethodName)), Full: fullName(c.MethodName), Service: output.Printable(c.Service.String()), Bar: costBar(c, most), Warning: c.Warning,
			CoreHours: unbroken(c.mark() + output.Amount(c.SelfCoreHours)), USD: unbroken(c.usd()), Calls: output.Calls(c.Calls, c.AssumedCalls, c.CallsSE), Records: strconv.FormatInt(c.Records, 10),
		})
	}
	for _, w := range r.Walls {
		d.Walls = append(d.Walls, wallLine{
			Name: short(fullName(w.MethodName)), Full: fullName(w.MethodName), Service: output.Printable(w.Service.String()), Self: unbroken(w.self()), Interval: output.Interval(w.Interval, output.Amount),
			Total: output.Amount(w.InclusiveWallHours), Calls: output.Calls(w.Calls, w.AssumedCalls, w.CallsSE), Records: strconv.FormatInt(w.Records, 10),
		})
	}
	s := changesScale(r.Changes)
	d.ChangesLow, d.ChangesHigh = output.Share(s.low/100), output.Share(s.high/100)
	for _, m := range r.Changes {
		into := &d.Folded
		if m.Proven {
			into = &d.Changes
		}
		full := output.Printable(query.FullName(m.Class, m.Method, m.Signature))
		*into = append(*into, changeLine{
			Name: short(full), Full: full, Service: output.Printable(m.Service.String()), Proven: m.Proven, Bar: changeBar(m, s),
			Versions: output.Printable(m.BaseVersion + " → " + m.HeadVersion), Change: m.change(), Interval: output.Interval(m.Interval, output.Change), Measured: m.measured(), Reason: m.CommonReason, Records: m.records(),
		})
	}
	for _, m := range r.Methods {
		part := r.methodPart(m)
		part.Name, part.Raised = short(part.Full), r.raises(m.MethodName)
		d.Methods = append(d.Methods, part)
	}
	for _, t := range r.Trees {
		part := treePart{Service: output.Printable(t.String()), Chart: icicle(t)}
		t.each(func(n *Node, level int) {
			part.Lines = append(part.Lines, treeLine{level, output.Printable(n.Name), output.Nanos(n.NS), output.Share(n.NS / t.TotalNS)})
		})
		d.Trees = append(d.Trees, part)
	}
	d.TreesLeft = output.More(r.TreesLeft, "trees of services")
	services, more := r.Health.Most(r.top)
	d.HealthLeft = more
	for _, s := range services {
		d.Health = append(d.Health, healthLine{output.Printable(s.Service.String()), healthFigures(s)})
	}
	for _, what := range slices.Sorted(maps.Keys(r.Health.Losses.SDK)) {
		if n := r.Health.Losses.SDK[what]; n != 0 {
			d.Losses = append(d.Losses, fmt.Sprintf("%s %s", output.Printable(what), output.Count(n)))
		}
	}
	return page.Execute(w, &d)
}

// headline returns the verdict of a report without alerts.
func (r *Report) headline() string {
	switch {
	case len(r.Changes) == 0:
		return noChanges
	case len(r.Compared)+r.ComparedLeft == 1:
		return "No regression: " + output.Printable(r.compared()[0]) + "."
	}
	return fmt.Sprintf("No regression in %d services.", len(r.Compared)+r.ComparedLeft)
}

// raises reports whether an alert is about the method.
func (r *Report) raises(m query.MethodName) bool {
	return slices.ContainsFunc(r.Alerts, func(a alert.Alert) bool {
		return a.Service == m.Name && a.ServiceNamespace == m.Namespace && a.Class == m.Class && a.Method == m.Method
	})
}

// commonPath returns the package path that the names of all costs and changes begin with, which readers need not read in
// every line: acme/shop/ of acme/shop/cart.Cart.Total and acme/shop/web.Serve.
func (r *Report) commonPath() string {
	var paths []string
	for _, c := range r.Costs {
		paths = append(paths, pathOf(fullName(c.MethodName)))
	}
	for _, m := range r.Changes {
		paths = append(paths, pathOf(output.Printable(query.FullName(m.Class, m.Method, m.Signature))))
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == "" }) // functions of main, routes
	if len(paths) < 2 {
		return ""
	}
	first, last := slices.Min(paths), slices.Max(paths)
	common := 0
	for common < min(len(first), len(last)) && first[common] == last[common] {
		common++
	}
	return first[:strings.LastIndexByte(first[:common], '/')+1]
}

// pathOf returns the path of a method's package with the slash at its end.
func pathOf(name string) string { return strings.TrimSuffix(name, output.WithoutPath(name)) }

// unbroken keeps a mark on the same line as its figure, by non-breaking spaces.
func unbroken(figure string) string { return strings.ReplaceAll(figure, " ", "\u00a0") }

var signs = []string{"━", "┅"} // as the curves: solid and dashed, alternating

func (r *Report) methodPart(m Method) methodPart {
	part := methodPart{
		Full: fullName(m.MethodName), Service: output.Printable(m.Service.String()),
		Caption: fmt.Sprintf("%s; %s", r.window(), output.Several(m.Records, "record")), Distribution: distributionChart(m), History: r.historyChart(m),
	}
	for i, c := range m.History {
		class := versionClass(i, len(m.History))
		part.Versions = append(part.Versions, versionLine{class, signs[class%2], versionName(c.Version), m.versionText(c.Version)})
		for _, p := range c.Points {
			part.Points = append(part.Points, pointLine{
				At: output.Time(p.At, r.zone), Version: versionName(c.Version), Mean: output.Nanos(p.NS),
				Interval: output.Interval(p.Interval, output.Nanos), Records: strconv.FormatInt(p.Records, 10),
			})
		}
	}
	return part
}

func fullName(m query.MethodName) string {
	return output.Printable(query.FullName(m.Class, m.Method, ""))
}

func versionName(v string) string {
	if v == "" {
		return "(no version)"
	}
	return output.Printable(v)
}

// printable removes terminal control characters from the lines. html/template escapes markup only.
func printable(lines []string) []string {
	safe := make([]string, len(lines))
	for i, line := range lines {
		safe[i] = output.Printable(line)
	}
	return safe
}
