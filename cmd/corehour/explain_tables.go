package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/comparison"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/drift/evaluation"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// addTables prints what the warehouse knows of a method.
func (a *account) addTables(d *output.Document, zone *time.Location) {
	name := query.FullName(a.Class, a.Method, "")
	versions := &output.Table{
		Least:   []string{"lowest and highest", "configured", "tier", "basis"},
		Title:   fmt.Sprintf("%s of %s", name, a.Service),
		Columns: []string{"version", "seen from", "to", "calls", "measured", "with CPU", "sampled at", "lowest and highest", "CPU at", "configured", "basis", "tier"},
	}
	for i := range a.Versions {
		v := &a.Versions[i]
		version := cmp.Or(v.Version, "unknown")
		if v.Revision != "" && v.Revision != v.Version {
			version += " (" + v.Revision + ")"
		}
		versions.Rows = append(versions.Rows, []output.Cell{
			output.Name(version), output.Name(output.Time(v.First, zone)), output.Name(output.Time(v.Last, zone)),
			output.Figure(callsOfVersion(v)), output.Whole(v.Measured), output.Whole(v.CPUMeasured),
			output.Figure(probability(v.P)), output.Figure(probability(v.LowestP) + " to " + probability(v.HighestP)), output.Figure(probability(v.CPUP)),
			output.Figure(probability(v.ConfiguredRate)), output.Name(strings.Join(v.Bases, ", ")), output.Name(cmp.Or(v.Tier, output.Unknown)),
		})
	}
	d.Add(versions)
	facts := &output.Table{Columns: []string{"", ""}}
	row := func(what, value string) {
		facts.Rows = append(facts.Rows, []output.Cell{output.Name(what), output.Prose(value)})
	}
	a.costs(row)
	a.verdicts(row)
	a.drifts(row)
	a.people(row)
	d.Add(facts)
	if a.Verdict == nil {
		return
	}
	conditions := &output.Table{Title: "conditions of an alert", Columns: []string{"condition", "wanted", "found", "holds"}}
	for _, p := range a.Verdict.Predicates {
		holds := output.Unknown
		if p.Holds != nil {
			holds = map[bool]string{true: "yes", false: "NO"}[*p.Holds]
		}
		conditions.Rows = append(conditions.Rows, []output.Cell{output.Name(p.Name), output.Prose(p.Want), output.Prose(p.Found), output.Name(holds)})
	}
	d.Add(conditions)
}

// callsOfVersion is how many there are, or how many at least.
func callsOfVersion(v *query.Sampling) string {
	if slices.Contains(v.Bases, methodspan.BasisAssumed) {
		return ">= " + output.Count(v.Calls)
	}
	return output.Count(v.Calls)
}

func probability(p float64) string {
	if !(p > 0) {
		return output.Unknown
	}
	return output.Share(p)
}

func (a *account) costs(row func(what, value string)) {
	l := a.Cost
	if l == nil {
		row("cost", "nothing measured")
		return
	}
	if l.AssumedCalls > 0 {
		row("calls", fmt.Sprintf("%s; %s", callsOf(l), cost.AssumedNote(a.Service, l.AssumedCalls)))
	}
	row("CPU time of a call", output.NanosOf(l.CPUNSPerCall)+" with all it calls")
	row("wall time of a call", output.NanosOf(l.WallNSPerCall))
	own := fmt.Sprintf("$%s a day, $%s a month, 95%% interval %s", output.AmountOf(l.SelfUSDPerDay), output.AmountOf(l.SelfUSDPerMonth), bounds(l))
	switch {
	case l.SelfUSDPerDay == nil:
		own = "not known: no price, or no CPU measured"
		if l.AssumedCalls > 0 && l.SelfCoreHours != nil {
			own = "no dollars of calls with a lower bound only; corehour cost --include-assumed has them"
		}
	case l.Uncertain:
		own += " ~"
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

func (a *account) verdicts(row func(what, value string)) {
	v := a.Verdict
	if v == nil {
		row("verdict", cmp.Or(a.NoVerdict, "nothing to compare"))
		return
	}
	row("compared", fmt.Sprintf("version %s with %s (%s) by %s time: %s", v.HeadVersion, v.BaseVersion, v.ChosenBy, v.Metric, v.Compared))
	row("verdict", comparison.StateNames[v.State])
	row("why", v.Decided)
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
		row("power", fmt.Sprintf("%+.1f%% would have been seen with 90%% probability, +10%% with %s", *v.Seen90Percent, output.PercentOf(v.PowerAt10)))
	}
	if v.MixPercent != nil {
		row("caller mix", fmt.Sprintf("%+.1f%%, not part of the change", *v.MixPercent))
	}
	for _, n := range v.Alerts {
		row("alert", n.String())
	}
	for _, w := range v.Warnings {
		row("weakened", w)
	}
}

func (a *account) drifts(row func(what, value string)) {
	l := a.Drift
	switch {
	case l == nil || l.State == evaluation.TooLittleHistory:
		row("drift", cmp.Or(a.NoDrift, "too little history"))
	case l.State == evaluation.NotProven:
		row("drift", "~ not significantly more expensive over weeks")
	default:
		row("drift", fmt.Sprintf("%s: a %s of %+.1f%% (95%% interval %+.1f%% to %+.1f%%) since %s", evaluation.StateNames[l.State], l.Shape, *l.ChangePercent, l.Interval[0], l.Interval[1], *l.Since))
	}
}

// people prints what was accepted, muted and sent.
func (a *account) people(row func(what, value string)) {
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
