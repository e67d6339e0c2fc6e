package main

import (
	"fmt"
	"math"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/judge"
	"github.com/corehour/corehour/regression/verdict"
)

// predicate is one condition of an alert. Holds is null where it was not asked any more.
type predicate struct {
	Name  string `json:"name"`
	Want  string `json:"want"`
	Found string `json:"found"`
	Holds *bool  `json:"holds"`
}

// decide repeats the conditions of an alert by evidence in their order, and names the
// one that decided.
func decide(c *verdict.Comparison, l *verdict.Line, f *findings) ([]predicate, string) {
	none := noAlert(c, l)
	records := min(l.BaseRecords, l.HeadRecords) >= f.MinRecords
	out := []predicate{{"records on both sides", fmt.Sprintf("%d or more", f.MinRecords), fmt.Sprintf("%d and %d", l.BaseRecords, l.HeadRecords), &records}}
	if !l.State.Judged() {
		return out, l.Reason
	}
	hypotheses := len(c.Methods) + 1 // and the whole service
	alpha := judge.Defaults().Alpha
	needed := math.Inf(1)
	if l.NeededEValue != nil {
		needed = *l.NeededEValue
	}
	e := math.Inf(1)
	if l.EValue != nil {
		e = *l.EValue
	}
	up := l.State != verdict.NotProven && l.State != verdict.Undecided || l.OnlyLook
	size, proven := *l.ChangePercent >= f.Threshold, e >= needed
	out = append(out,
		predicate{"change", fmt.Sprintf("%g%% or more", f.Threshold), fmt.Sprintf("%+.1f%% (95%% interval %+.1f%% to %+.1f%%)", *l.ChangePercent, l.Interval[0], l.Interval[1]), &size},
		predicate{"e-value", fmt.Sprintf("%.3g or more: %s", needed, family(hypotheses, needed, alpha, l.OnlyLook)), fmt.Sprintf("%.3g", e), &proven})
	switch l.State {
	case verdict.Undecided:
		return out, l.Reason
	case verdict.WithService:
		return out, none + ", the whole service has it: " + l.Reason
	}
	if !up && !(size && proven) {
		return out, undecided(none, out, l)
	}
	out = append(out, predicate{"the last time bucket", "not cheaper than the base", "", &up})
	if !up {
		return out, "raised by its size and evidence, but in the last time bucket it was no longer more expensive"
	}
	if l.State == verdict.NotProven && l.OnlyLook {
		return out, undecided(none, out, l)
	}
	twice := l.State != verdict.Pending
	if !l.OnlyLook { // its evidence stands for the other
		out = append(out, predicate{"consecutive evaluations", fmt.Sprint(judge.Defaults().Evaluations), "", &twice})
	}
	if twice {
		own := l.State == verdict.Regressed
		out = append(out, predicate{"the growth is its own", "not that of raised callees, not saved by a caller", l.Reason, &own})
	}
	switch l.State {
	case verdict.Pending:
		return out, "the next evaluation decides: only the last of two raised it"
	case verdict.Explained:
		return out, none + ", because of what it calls: " + l.Reason
	case verdict.Moved:
		return out, none + ", because its caller costs the same as before: " + l.Reason
	}
	return out, "an alert: every condition holds"
}

// family explains the e-value that e-BH requires, given how many hypotheses are rejected.
func family(hypotheses int, needed, alpha float64, onlyLook bool) string {
	if onlyLook {
		return fmt.Sprintf("%d times what two evaluations require, as no other can follow", judge.LastEvaluationFactor)
	}
	return fmt.Sprintf("as one of %.0f of %d hypotheses, %g%% of them by mistake", float64(hypotheses)/(alpha*needed), hypotheses, 100*alpha)
}

// noAlert is about the cost of a call: a method may have an alert of its number of calls.
func noAlert(c *verdict.Comparison, l *verdict.Line) string {
	for i := range c.Alerts {
		if a := &c.Alerts[i]; a.Kind == alert.MoreCalls && a.Class == l.Class && a.Method == l.Method {
			return "an alert of its calls, no alert of its cost"
		}
	}
	if l.State == verdict.Explained || l.State == verdict.WithService {
		return "no alert of its own"
	}
	return "no alert"
}

// undecided names the first condition that does not hold.
func undecided(none string, all []predicate, l *verdict.Line) string {
	for _, p := range all {
		if p.Holds != nil && !*p.Holds {
			return fmt.Sprintf("%s, because of the %s: want %s, found %s. %s", none, p.Name, p.Want, p.Found, l.Reason)
		}
	}
	return l.Reason
}
