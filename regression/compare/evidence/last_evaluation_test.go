package evidence_test

import (
	"strings"
	"testing"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// ended evaluates a deployment one bucket before its end and at its end, after which no more buckets come.
func ended(t *testing.T, d *evidence.Deployment, buckets int, over bool) *evidence.Result {
	t.Helper()
	d.Buckets = buckets - 1
	_, memory, err := evidence.Evaluate(d, evidence.Defaults(), evidence.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	d.Buckets, d.Over = buckets, over
	r, _, err := evidence.Evaluate(d, evidence.Defaults(), memory)
	if err != nil {
		t.Fatal(err)
	}
	traceAgrees(t, r)
	return r
}

// A change that only the last evaluation raised is reported if its evidence is strong, and dropped otherwise. It
// does not wait for another evaluation, because none will come.
func TestEvaluate_LastEvaluationDecides(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	told, refused := 0, 0
	for percent := 3; percent <= 60; percent++ {
		for buckets := 2; buckets <= 6; buckets++ {
			draw := func() *evidence.Deployment {
				s := newShop()
				s.at("Tax").self[1] *= 1 + float64(percent)/100
				return s.deployment(uint64(percent))
			}
			running, over := ended(t, draw(), buckets, false), ended(t, draw(), buckets, true)
			before, after := verdictOf(t, running, "Tax"), verdictOf(t, over, "Tax")
			for _, v := range over.Methods {
				if v.State == evidence.Pending {
					t.Fatalf("+%d%%, %d slots: %s waits for a look that never comes", percent, buckets, v.FullName)
				}
			}
			warnings := strings.Join(after.Warnings, " ")
			switch enough := figure(before.EValue) >= evidence.LastEvaluationFactor*figure(before.NeededEValue); {
			case before.State != evidence.Pending: // two evaluations agree, or none raised it
				if after.State != before.State || after.LastEvaluation || len(after.Warnings) > 0 {
					t.Fatalf("+%d%%, %d slots: %s becomes %s, %q", percent, buckets, before.State, after.State, warnings)
				}
			case enough:
				told++
				if after.State != evidence.Regressed || !after.LastEvaluation || !strings.Contains(warnings, "reported by the last evaluation alone, with 20 times the evidence") {
					t.Fatalf("+%d%%, %d slots, e-value %g of %g: %s, %q", percent, buckets, figure(after.EValue), figure(after.NeededEValue), after.State, warnings)
				}
				wantAlerts(t, over, "regression Tax")
			default:
				refused++
				if after.State != evidence.NotProven || !after.LastEvaluation || !strings.Contains(warnings, "in the last evaluation alone, e-value ") {
					t.Fatalf("+%d%%, %d slots, e-value %g of %g: %s, %q", percent, buckets, figure(after.EValue), figure(after.NeededEValue), after.State, warnings)
				}
				wantAlerts(t, over)
			}
		}
	}
	if told < 10 || refused < 3 {
		t.Errorf("only %d told and %d refused by one look: nothing is proven", told, refused)
	}
}
