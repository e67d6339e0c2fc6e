package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// costBar draws a line of the ranking: its cost and the 95% interval.
func costBar(c Cost, most float64) template.HTML {
	s := scale{0, most}
	d := newDrawing(18, fmt.Sprintf("%s core hours", output.Amount(c.SelfCoreHours)))
	d.rect(0, 3, s.position(c.SelfCoreHours), 12, "bar", "")
	if c.Interval != nil {
		low, high := s.position(c.Interval[0]), s.position(c.Interval[1])
		d.line(low, 9, high, 9, "whisker")
		d.line(low, 5, low, 13, "whisker")
		d.line(high, 5, high, 13, "whisker")
	}
	return d.html()
}

// changeBar draws a change with its interval, on the scale s of all changes.
func changeBar(m Change, s scale) template.HTML {
	d := newDrawing(18, output.Change(*m.ChangePercent)+", between "+output.Change(m.Interval[0])+" and "+output.Change(m.Interval[1]))
	d.line(s.position(0), 0, s.position(0), 18, "zero")
	class := "open"
	if m.Proven {
		class = "proven"
	}
	d.line(s.position(m.Interval[0]), 9, s.position(m.Interval[1]), 9, "whisker")
	d.dot(s.position(*m.ChangePercent), 9, 4, class, d.label)
	return d.html()
}

// changesScale returns a scale that contains the raised changes, or nearly all intervals if none is raised; wider ones
// are cut at the edge. The lower end
// is at least -100%, because no method can become cheaper than that.
func changesScale(changes []Change) scale {
	var ends []float64
	for _, m := range changes {
		ends = append(ends, math.Abs(m.Interval[0]), math.Abs(m.Interval[1]), math.Abs(*m.ChangePercent))
	}
	if len(ends) == 0 {
		return scale{-1, 1}
	}
	slices.Sort(ends)
	most := 0.0
	for _, m := range changes {
		if m.Proven {
			change := math.Abs(*m.ChangePercent)
			most = max(most, 1.1*change, min(1.05*m.Interval[1], 1.5*change))
		}
	}
	if most == 0 { // nothing is raised
		most = max(1, ends[len(ends)*9/10])
	}
	return scale{max(-most, -100), most}
}

// Layout of charts with axes, with room for the labels of the y axis (in percent) and of the x axis (in pixels).
const (
	chartHeight = 200
	chartTop    = 12
	chartFoot   = 24
	chartLeft   = 9.0
)

func chartX(place float64) float64 { return chartLeft + place*(99-chartLeft)/100 }

func chartY(place float64) float64 {
	return chartHeight - chartFoot - place*(chartHeight-chartFoot-chartTop)/100
}

// anchorAt returns the text anchor that keeps a text at a place inside the chart.
func anchorAt(place float64) string {
	if place > 90 {
		return "end"
	}
	return "middle"
}

func (d *drawing) yAxis(s scale, show func(float64) string) {
	for _, v := range s.ticks(4) {
		d.line(chartLeft, chartY(s.position(v)), 99, chartY(s.position(v)), "grid")
		// Labels start at the left edge: on a phone the room next to the axis is narrow.
		d.text(0, chartY(s.position(v))+4, "start", show(v))
	}
}

// distributionChart draws the distribution of the times of single calls, by version.
func distributionChart(m Method) template.HTML {
	low, high, most := int64(math.MaxInt64), int64(math.MinInt64), 0.0
	for _, s := range m.Distributions {
		for bin, share := range s.Bins {
			low, high, most = min(low, bin), max(high, bin+1), max(most, share)
		}
	}
	if low > high {
		return ""
	}
	x, y := scale{float64(low), float64(high)}, scale{0, most * 100 * 1.05}
	d := newDrawing(chartHeight, "share of the calls of "+m.Class+"."+m.Method+" by their time, one line per version")
	d.yAxis(y, func(v float64) string { return fmt.Sprintf("%.3g%%", v) })
	step := max(1, (high-low+4)/5)
	for bin := low; bin <= high; bin += step {
		place := chartX(x.position(float64(bin)))
		d.text(place, chartHeight-6, anchorAt(place), output.Nanos(query.BinStart(bin)))
	}
	for i, s := range m.Distributions {
		class := fmt.Sprintf("curve v%d", versionClass(i, len(m.Distributions)))
		before := 0.0
		for bin := low; bin <= high; bin++ {
			share := 100 * s.Bins[bin]
			left, right := chartX(x.position(float64(bin))), chartX(x.position(float64(bin+1)))
			if share != before {
				d.line(left, chartY(y.position(before)), left, chartY(y.position(share)), class)
			}
			if share > 0 {
				d.line(left, chartY(y.position(share)), right, chartY(y.position(share)), class)
			}
			before = share
		}
	}
	return d.html()
}

// versionClass numbers versions from the newest, so that the newest has the same colour in every chart.
func versionClass(i, of int) int { return of - 1 - i }

// historyChart draws the mean time of a call over time. A vertical line marks where a version first appears.
func (r *Report) historyChart(m Method) template.HTML {
	var first, last time.Time
	most := 0.0
	for _, c := range m.History {
		for _, p := range c.Points {
			if first.IsZero() || p.At.Before(first) {
				first = p.At
			}
			if p.At.After(last) {
				last = p.At
			}
			most = max(most, p.NS)
		}
	}
	if first.IsZero() {
		return ""
	}
	x := scale{float64(first.Unix()), float64(last.Unix())}
	y := scale{0, most * 1.3}
	d := newDrawing(chartHeight, "mean time of a call of "+m.Class+"."+m.Method+" over time, by version")
	d.yAxis(y, output.Nanos)
	layout := "15:04:05"
	if last.Sub(first) > 36*time.Hour {
		layout = "2 Jan"
	} else if last.Sub(first) > time.Hour {
		layout = "15:04"
	}
	for i := range 5 {
		at := first.Add(last.Sub(first) * time.Duration(i) / 4)
		anchor := []string{"start", "middle", "middle", "middle", "end"}[i]
		if last.Equal(first) && i > 0 {
			break
		}
		d.text(chartX(x.position(float64(at.Unix()))), chartHeight-6, anchor, at.In(r.zone).Format(layout))
	}
	for i, c := range m.History {
		class := fmt.Sprintf("v%d", versionClass(i, len(m.History)))
		if i > 0 {
			at := chartX(x.position(float64(c.Points[0].At.Unix())))
			d.line(at, chartTop, at, chartHeight-chartFoot, "deploy")
			d.text(at, chartTop-2, anchorAt(at), c.Version)
		}
		for _, p := range c.Points {
			at := chartX(x.position(float64(p.At.Unix())))
			title := fmt.Sprintf("%s, %s: %s a call, %s", c.Version, output.Time(p.At, r.zone), output.Nanos(p.NS), output.Several(p.Records, "record"))
			if p.Interval != nil {
				d.line(at, chartY(y.position(p.Interval[0])), at, chartY(y.position(p.Interval[1])), "band "+class)
			}
			d.dot(at, chartY(y.position(p.NS)), 3, "dot "+class, title)
		}
	}
	return d.html()
}

const (
	boxHeight = 20
	// textFrom is the smallest width of a box, in percent, that has a name printed in it. From wholeNameFrom on
	// the name includes its package. Phones show no names in boxes narrower than wholeNameFrom.
	textFrom      = 4
	wholeNameFrom = 20
)

// icicle draws a tree of callers. Boxes are as wide as their share of the service's measured time, with callees
// below their callers.
func icicle(t Tree) template.HTML {
	d := newDrawing(float64(depth(t.Roots))*boxHeight, "who calls whom in "+t.String()+", by time")
	d.boxes(t.Roots, 0, 0, t.TotalNS)
	return d.html()
}

func (d *drawing) boxes(nodes []*Node, x float64, level int, total float64) {
	for _, n := range nodes {
		width := 100 * n.NS / total
		name := ""
		if width >= textFrom {
			name = output.Printable(n.Name)
		}
		class := "in"
		if width < wholeNameFrom { // the list and the tooltip show the package
			name, class = name[strings.LastIndexByte(name, '/')+1:], "in wide"
		}
		title := fmt.Sprintf("%s: %s, %.1f%%", n.Name, output.Nanos(n.NS), width)
		d.box(x, float64(level*boxHeight), width, boxHeight-1, fmt.Sprintf("call c%d", level%4), title, name, class)
		d.boxes(n.Children, x, level+1, total)
		x += width
	}
}

func depth(nodes []*Node) int {
	deepest := 0
	for _, n := range nodes {
		deepest = max(deepest, 1+depth(n.Children))
	}
	return deepest
}
