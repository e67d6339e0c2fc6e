package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/findings"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/drift/evaluation"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// addTables adds the versions, the facts and the conditions of an alert to d.
func (a *Account) addTables(d *output.Document, zone *time.Location) {
	if a.Verdict != nil {
		for _, n := range a.Verdict.Alerts {
			d.Say(n.headline)
		}
	}
	d.Add(a.versionTable(zone))
	var facts []fact
	row := func(what, value string) { facts = append(facts, fact{what, value}) }
	a.costs(row)
	a.verdicts(row)
	a.drifts(row)
	a.people(row)
	d.Add(factTable("", facts))
	if a.Verdict == nil {
		return
	}
	var c output.Columns[evidence.Predicate]
	c.Name("condition", func(p *evidence.Predicate) string { return p.Name })
	c.Column("wanted", func(p *evidence.Predicate) output.Cell { return output.Prose(p.Want) })
	c.Column("found", func(p *evidence.Predicate) output.Cell { return output.Prose(p.Found) })
	c.Name("holds", func(p *evidence.Predicate) string {
		if p.Holds == nil {
			return output.Unknown
		}
		return map[bool]string{true: "yes", false: "NO"}[*p.Holds]
	})
	conditions := c.Table(a.Verdict.Predicates)
	conditions.Title = "conditions of an alert"
	d.Add(conditions)
}

func (a *Account) versionTable(zone *time.Location) *output.Table {
	var c output.Columns[query.Sampling]
	share := func(name string, p func(*query.Sampling) float64) {
		c.Figure(name, func(v *query.Sampling) string { return probability(p(v)) })
	}
	c.Name("version", func(v *query.Sampling) string {
		version := cmp.Or(v.Version, "unknown")
		if v.Revision != "" && v.Revision != v.Version {
			version += " (" + v.Revision + ")"
		}
		return version
	})
	c.Name("seen from", func(v *query.Sampling) string { return output.Time(v.First, zone) })
	c.Name("to", func(v *query.Sampling) string { return output.Time(v.Last, zone) })
	c.Figure("calls", callsOfVersion)
	c.Whole("measured", func(v *query.Sampling) int64 { return v.Measured })
	c.Whole("with CPU", func(v *query.Sampling) int64 { return v.CPUMeasured })
	share("sampled at", func(v *query.Sampling) float64 { return v.P })
	c.Figure("lowest and highest", func(v *query.Sampling) string {
		if !(v.HighestP > 0) {
			return output.Unknown
		}
		return output.Interval(&[2]float64{v.LowestP, v.HighestP}, probability)
	})
	share("CPU at", func(v *query.Sampling) float64 { return v.CPUP })
	share("configured", func(v *query.Sampling) float64 { return v.ConfiguredRate })
	c.Name("basis", func(v *query.Sampling) string { return strings.Join(v.Bases, ", ") })
	c.Name("tier", func(v *query.Sampling) string { return cmp.Or(v.Tier, output.Unknown) })
	t := c.Table(a.Versions)
	t.Title = fmt.Sprintf("%s of %s", query.FullName(a.Class, a.Method, ""), a.Service)
	t.Least = []string{"lowest and highest", "configured", "tier", "basis"}
	return t
}

// callsOfVersion returns the number of calls, as a lower bound if the sampling probability of some is unknown.
func callsOfVersion(v *query.Sampling) string {
	assumed := 0.0
	if slices.Contains(v.Bases, methodspan.BasisAssumed) {
		assumed = v.Calls
	}
	return output.Calls(v.Calls, assumed, v.CallsSE)
}

func probability(p float64) string {
	if !(p > 0) {
		return output.Unknown
	}
	return output.Share(p)
}

func (a *Account) costs(row func(what, value string)) {
	l := a.Cost
	if l == nil {
		row("cost", "nothing measured")
		return
	}
	switch {
	case l.AssumedCalls > 0:
		row("calls", fmt.Sprintf("%s; %s", l.CallsText(), cost.AssumedNote(a.Service, l.AssumedCalls)))
	case l.CallsSE > 0:
		row("calls", l.CallsText()+", estimated from sampled spans")
	}
	row("CPU time of a call", output.NanosOf(l.CPUNSPerCall)+" with all it calls")
	row("wall time of a call", output.NanosOf(l.WallNSPerCall))
	own := fmt.Sprintf("$%s a day, $%s a month", output.AmountOf(l.SelfUSDPerDay), output.AmountOf(l.SelfUSDPerMonth))
	if bounds := l.SelfBounds(); bounds != output.Unknown {
		own += ", 95% interval " + bounds
	}
	switch {
	case l.SelfUSDPerDay == nil:
		own = "not known: no price, or no CPU measured"
		if l.AssumedCalls > 0 && l.SelfCoreHours != nil {
			own = "no dollars of calls with a lower bound only; corehour cost --include-assumed has them"
		}
	case l.Uncertain:
		own = "~ " + own + ", " + l.Why
	case l.Warning != "":
		own += ", " + l.Warning
	}
	if l.SelfUSDPerDay != nil && l.USDPerDayBasis != "" {
		own += "; " + l.USDPerDayBasis
	}
	if l.GenericPrice && l.SelfUSDPerDay != nil {
		own += ", generic price"
	}
	row("own cost", own)
}

func (a *Account) verdicts(row func(what, value string)) {
	v := a.Verdict
	if v == nil {
		row("verdict", cmp.Or(a.NoVerdict, "nothing to compare"))
		return
	}
	row("compared", fmt.Sprintf("version %s with %s (%s) by %s time: %s", v.HeadVersion, v.BaseVersion, v.ChosenBy, v.Metric, v.Compared))
	row("verdict", findings.StateNames[v.State])
	row("why", v.Decided)
	if n := v.Needed; n != nil && !strings.Contains(v.Decided, n.Text) {
		row("to decide", n.Text)
	}
	if v.Measured != nil {
		row("measured change", v.Measured.String())
		subtracted := "nothing"
		if v.Common != nil {
			subtracted = v.Common.String()
		}
		row("subtracted", subtracted+": "+v.CommonReason)
		if v.Remaining != nil {
			row("remaining change", v.Remaining.String())
		}
		row("inclusive change", v.Inclusive.String())
	}
	if v.Seen90Percent != nil {
		row("power", fmt.Sprintf("%s would have been seen with 90%% probability, +10%% with %s", output.Change(*v.Seen90Percent), output.PercentOf(v.PowerAt10)))
	}
	if v.MixPercent != nil {
		row("caller mix", output.Change(*v.MixPercent)+", not part of the change")
	}
	for _, n := range v.Alerts {
		row("alert", n.String())
	}
	for _, w := range v.Warnings {
		row("weakened", w)
	}
}

func (a *Account) drifts(row func(what, value string)) {
	l := a.Drift
	switch {
	case l == nil || l.State == evaluation.TooLittleHistory:
		row("drift", cmp.Or(a.NoDrift, "too little history"))
	case l.State == evaluation.NotProven:
		row("drift", "~ not significantly more expensive over weeks")
	default:
		row("drift", fmt.Sprintf("%s: a %s of %s since %s", evaluation.StateNames[l.State], l.Shape, output.ChangeIn(*l.ChangePercent, *l.Interval), *l.Since))
	}
}

// people adds the accepted, muted and sent alerts.
func (a *Account) people(row func(what, value string)) {
	for i := range a.Accepted {
		x := &a.Accepted[i]
		row("accepted", fmt.Sprintf("%s: %s", x.Levels().Level(), x))
	}
	for i := range a.Silenced {
		x := &a.Silenced[i]
		row("muted", x.Muted())
	}
	for i := range a.Open {
		o := &a.Open[i]
		state := "open"
		if o.Resolved {
			state = "resolved: " + o.Alert.Resolution
		}
		row("sent", fmt.Sprintf("%s, raised %s, %s", named{ID: o.Alert.ID, Kind: o.Alert.Kind, Caller: o.Alert.Caller}, o.Raised.UTC().Format(time.RFC3339), state))
	}
}
