package pairs

import (
	"fmt"
	"math"
	"strings"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// alert returns the alert of a regressed verdict, with its dollars a day where the service has a price.
func (s *preparedPair) alert(c *Comparison, v evidence.Verdict) (alert.Alert, error) {
	s.identifyAlert(&v)
	a := c.alertOf(&v)
	if v.Kind == evidence.MoreCalls {
		a.Basis = "calls per call of its caller"
	}
	var day *cost.Day
	if s.metric == query.CPU && s.day != nil {
		var err error
		if day, err = s.day(); err != nil {
			return a, err
		}
	}
	if v.Kind == evidence.Regression {
		addDollars(&a, day, v.Basis == evidence.Inclusive || v.Basis == evidence.Typical)
	}
	a.Severity = alert.SeverityOf(s.impact(&v, a.USDPerDay, day))
	a.Reason = s.sentence(c, &v)
	return a, nil
}

// sentence returns the reason of an alert: what changed, between which versions, and the processes and time buckets
// that were compared.
func (s *preparedPair) sentence(c *Comparison, v *evidence.Verdict) string {
	what := fmt.Sprintf("%s %s time per call, adjusted for caller mix and hour", v.Basis, s.metric)
	switch v.Kind {
	case evidence.MoreCalls:
		what = v.Name() + ": calls of the one per call of the other"
	case evidence.WholeService:
		what = string(s.metric) + " time of all methods"
	}
	parts := []string{fmt.Sprintf("%s: %s, from version %s to %s", what, v.Reason, c.BaseVersion, c.HeadVersion)}
	if v.Kind == evidence.Regression && math.Abs(*v.MixPercent) >= 1 {
		parts = append(parts, output.Change(*v.MixPercent)+" more because of who calls it, which is not part of this")
	}
	if len(v.Explains) > 0 {
		parts = append(parts, "because of "+strings.Join(v.Explains, ", "))
	}
	parts = append(parts, s.describe())
	return strings.Join(append(parts, v.Warnings...), "; ")
}
