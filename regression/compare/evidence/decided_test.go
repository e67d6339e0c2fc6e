package evidence

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// The trace describes the evidence and the evaluations that decided.
func TestTrace_DecidingEvaluation(t *testing.T) {
	for _, c := range []struct {
		eValue           float64
		cheaperAtLast    bool
		evaluations      int // earlier evaluations that raised it
		over             bool
		decided          string
		fails            []string // conditions that do not hold
		state            VerdictState
		byLastEvaluation bool
	}{
		{181, false, 0, true, "no alert, because of the e-value: want 2e+03 or more: 20 times what two evaluations require, as no other can follow, found 181. the reason", []string{"e-value"}, NotProven, true},
		{2500, false, 0, true, "an alert: every condition holds", nil, Regressed, true},
		{181, false, 1, true, "an alert: every condition holds", nil, Regressed, false},
		{181, false, 0, false, "the next evaluation decides: only the last of two raised it", []string{"consecutive evaluations"}, Pending, false},
		{181, true, 1, true, "in the last time bucket it was no longer more expensive", []string{"the last time bucket"}, NotProven, false},
	} {
		of := &compared{name: "m", decide: []statistic{mean}, logE: math.Log(c.eValue), spread: errorOf{1, 1, 10}}
		of.seen = [2]float64{60, 60}
		of.verdict = outcome{BaseRecords: 60, HeadRecords: 60, Change: 0.6, Interval: [2]float64{0.3, 1}, EValue: c.eValue, LogE: of.logE}
		of.fits[mean] = fit{ok: true, change: math.Log(1.6), lastN: 1e6, df: 10}
		of.inclusive = of.fits[mean]
		if c.cheaperAtLast {
			of.fits[mean].last = -1
		}
		o := Defaults()
		of.estimate(processSpreads{}, o, 1)
		family := []*compared{of}
		for range 4 {
			family = append(family, &compared{decide: []statistic{mean}, logE: math.Inf(-1), verdict: outcome{State: NotProven}})
		}
		memory := Memory{InARow: map[string]map[string]int{"": {"m": c.evaluations}}}
		memory = memory.next(memory.Seen.AddDate(0, 0, 1), raise(family, o.LeastChange, o), nil)
		confirm(family, memory, o)
		if c.over {
			confirmLast(family, o)
		}
		of.verdict.Reason = "the reason"
		trace := of.trace(o, false)
		var fails []string
		for _, p := range trace.Predicates {
			if !*p.Holds {
				fails = append(fails, p.Name)
			}
		}
		if v := of.verdict; !strings.Contains(trace.Decided, c.decided) || !slices.Equal(fails, c.fails) || v.State != c.state || v.LastEvaluation != c.byLastEvaluation {
			t.Errorf("%s, %s: %q does not hold, want %q because of %q", v.State, trace.Decided, fails, c.decided, c.fails)
		}
	}
}
