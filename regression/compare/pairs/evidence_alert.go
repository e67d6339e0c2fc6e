package pairs

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/query"
)

// alert puts a verdict into the words that other programs read.
func (s *subject) alert(c *Comparison, j evidence.Alert) (alert.Alert, error) {
	a := c.newAlert(string(j.Kind), s.metric, string(j.Basis))
	a.Base, a.Head, a.Records = j.BaseMean, j.HeadMean, int64(j.HeadRecords)
	a.ChangePercent, a.Interval = 100*j.Change, [2]float64{100 * j.Interval[0], 100 * j.Interval[1]}
	e := min(j.EValue, math.MaxFloat64)
	a.EValue = &e
	if j.Kind == evidence.MoreCalls {
		a.Caller, a.Basis = j.Caller, "calls per call of its caller"
	}
	if m := slices.Index(s.deployment.Methods, j.Method); m >= 0 && j.Kind != evidence.WholeService {
		a.Class, a.Method, a.Signature = s.names[m].Class, s.names[m].Method, s.names[m].Signature
	}
	var day *cost.Day
	if s.metric == query.CPU && s.day != nil {
		var err error
		if day, err = s.day(); err != nil {
			return a, err
		}
	}
	if j.Kind == evidence.Regression {
		addDollars(&a, day, j.Basis == evidence.Inclusive)
	}
	a.Severity = alert.SeverityOf(s.impact(j, a.USDPerDay, day))
	a.Reason = s.sentence(c, j)
	a.ID = alert.ID(&a)
	return a, nil
}

// sentence says what was found, between what, and on what it rests.
func (s *subject) sentence(c *Comparison, j evidence.Alert) string {
	what := fmt.Sprintf("%s %s time per call, adjusted for caller mix and hour", j.Basis, s.metric)
	switch j.Kind {
	case evidence.MoreCalls:
		what = j.Name() + ": calls of the one per call of the other"
	case evidence.WholeService:
		what = string(s.metric) + " time of all methods"
	}
	parts := []string{fmt.Sprintf("%s: %s, from version %s to %s", what, j.Reason, c.BaseVersion, c.HeadVersion)}
	if j.Kind == evidence.Regression && math.Abs(j.Mix) >= 0.01 {
		parts = append(parts, fmt.Sprintf("%+.1f%% more because of who calls it, which is not part of this", 100*j.Mix))
	}
	if len(j.Explains) > 0 {
		parts = append(parts, "because of "+strings.Join(j.Explains, ", "))
	}
	parts = append(parts, s.describe())
	return strings.Join(append(parts, j.Warnings...), "; ")
}
