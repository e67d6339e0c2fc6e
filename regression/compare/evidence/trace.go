package evidence

import (
	"cmp"
	"fmt"

	"github.com/corehour/corehour/regression/output"
)

// condition is a condition of an alert. They are tested in this order.
type condition int

const (
	enoughRecords condition = iota
	largeEnough
	enoughEvidence
	stillMore // in the last time bucket
	confirmed // by consecutive evaluations
	undoubted // by its own figures, load, age and host
	itsOwn    // not caused by callees, not saved by a caller
	conditions
)

// answers holds the result of each condition, nil if it was not tested.
type answers [conditions]*bool

// ask records whether a condition holds, and returns holds.
func (a *answers) ask(c condition, holds bool) bool {
	a[c] = &holds
	return holds
}

// endAt removes the results of all conditions after c.
func (a *answers) endAt(c condition) { clear(a[c+1:]) }

// Predicate is a tested condition of an alert.
type Predicate struct {
	Name  string `json:"name"`
	Want  string `json:"want"`
	Found string `json:"found"`
	Holds *bool  `json:"holds"`
}

// Trace explains a verdict: the tested conditions in their order, and a sentence with the decision. For a regressed
// method all conditions were tested and hold, or held in an earlier evaluation.
type Trace struct {
	Predicates []Predicate `json:"predicates"`
	Decided    string      `json:"decided"`
}

// trace converts the answers to text. moreCalls is true if the calls of the method are raised.
func (c *compared) trace(o Options, moreCalls bool) Trace {
	v := &c.verdict
	words := [conditions]Predicate{
		enoughRecords: {Name: "records on both sides", Want: fmt.Sprintf("%g or more", o.Records),
			Found: fmt.Sprintf("%d and %d", int64(v.BaseRecords), int64(v.HeadRecords))},
		largeEnough: {Name: "change", Want: fmt.Sprintf("%.6g%% or more", 100*o.LeastChange),
			Found: output.ChangeIn(100*v.Change, [2]float64{100 * v.Interval[0], 100 * v.Interval[1]})},
		enoughEvidence: {Name: "e-value", Want: fmt.Sprintf("%.3g or more: %s", v.NeededE, c.requirement(o)), Found: fmt.Sprintf("%.3g", v.EValue)},
		stillMore:      {Name: "the last time bucket", Want: "not cheaper than the base"},
		confirmed:      {Name: "consecutive evaluations", Want: fmt.Sprint(o.Evaluations)},
		undoubted:      {Name: "the version is the cause", Want: "no contradiction and no other cause", Found: cmp.Or(v.Doubt, "none")},
		itsOwn:         {Name: "the growth is its own", Want: "not that of raised callees, not saved by a caller", Found: v.Reason},
	}
	if most := c.changed(); most >= o.LeastChange && v.Change < o.LeastChange {
		words[largeEnough].Found += "; " + percent(most) + " but for the most expensive calls"
	}
	var t Trace
	for i, holds := range c.answers {
		if holds != nil {
			words[i].Holds = holds
			t.Predicates = append(t.Predicates, words[i])
		}
	}
	t.Decided = c.decided(t.Predicates, moreCalls)
	return t
}

// requirement explains the e-value that is needed.
func (c *compared) requirement(o Options) string {
	if c.verdict.LastEvaluation {
		return fmt.Sprintf("%d times what two evaluations require, as no other can follow", LastEvaluationFactor)
	}
	return fmt.Sprintf("as alert %.0f of %d hypotheses, %g%% of alerts by mistake", float64(c.hypotheses)/(o.Alpha*c.verdict.NeededE), c.hypotheses, 100*o.Alpha)
}

// decided explains the decision by the condition that caused it.
func (c *compared) decided(asked []Predicate, moreCalls bool) string {
	v, none := &c.verdict, "no alert"
	switch {
	case moreCalls:
		none = "an alert of its calls, no alert of its cost"
	case v.State == Explained || v.State == WithService:
		none = "no alert of its own"
	}
	switch v.State {
	case Regressed:
		if c.kept {
			return "an alert of an earlier evaluation, which this one does not refute"
		}
		return "an alert: every condition holds"
	case NotDistinguishable, Small:
		return none + ": " + v.Doubt
	case Pending:
		return "the next evaluation decides: only the last of two raised it"
	case Explained:
		return none + ", because of what it calls: " + v.Reason
	case WithService:
		return none + ", the whole service has it: " + v.Reason
	case Moved:
		return none + ", because its caller costs the same as before: " + v.Reason
	case NotProven:
		if more := c.answers[stillMore]; more != nil && !*more {
			return "raised by its size and evidence, but in the last time bucket it was no longer more expensive"
		}
		for _, p := range asked {
			if !*p.Holds {
				return fmt.Sprintf("%s, because of the %s: want %s, found %s. %s", none, p.Name, p.Want, p.Found, v.Reason)
			}
		}
	}
	return v.Reason
}
