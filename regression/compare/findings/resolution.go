package findings

import (
	"fmt"
	"slices"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/output"
)

// resolved reports whether an open alert that the evaluation did not raise again is resolved, and why. It is resolved if
// the alert's base version is back as the head. Otherwise it stays open while the newest version costs more than the
// alert's base by the threshold, with any base, and while there is no verdict.
func (f *Findings) resolved(a *alert.Alert) (why string, resolved bool) {
	if !slices.Contains([]string{alert.Regression, alert.MoreCalls, alert.WholeService}, a.Kind) {
		return "", false
	}
	for _, c := range f.Comparisons {
		if c.Namespace != a.ServiceNamespace || c.Name != a.Service || c.Environment != a.Environment || a.Kind != alert.Regression && string(c.Metric) != a.Metric {
			continue
		}
		if c.HeadVersion == a.BaseVersion && c.BaseVersion == a.HeadVersion {
			return fmt.Sprintf("version %s, which it is compared with, is back", c.HeadVersion), true
		}
		if a.Kind != alert.Regression {
			return resolvedBySamePair(a, c)
		}
		for i := range c.Methods {
			if v := &c.Methods[i]; v.Class == a.Class && v.Method == a.Method && v.Metric == a.Metric {
				return resolvedByVerdict(a, c, v, f.Threshold)
			}
		}
	}
	return "", false
}

// resolvedBySamePair handles alerts that are not about one method: only a comparison of the same versions can resolve them.
func resolvedBySamePair(a *alert.Alert, c *pairs.Comparison) (string, bool) {
	judged := c.Conclusive()
	if a.Kind == alert.WholeService {
		judged = c.WholeService != nil
	}
	if !judged || c.BaseVersion != a.BaseVersion || c.HeadVersion != a.HeadVersion {
		return "", false
	}
	return "the same comparison does not show it any more", true
}

// residual is the share of an alert's growth that can remain when the alert is resolved, because its base is an
// estimate.
const residual = 0.1

// resolvedByVerdict reports whether the verdict v on the method resolves its alert, and why.
func resolvedByVerdict(a *alert.Alert, c *pairs.Comparison, v *evidence.Verdict, thresholdPercent float64) (string, bool) {
	samePair := c.BaseVersion == a.BaseVersion && c.HeadVersion == a.HeadVersion
	switch {
	case v.State == evidence.Gone:
		return fmt.Sprintf("version %s does not call it", c.HeadVersion), true
	case !v.State.Judged() || v.Basis == "":
		return "", false
	case samePair && v.State == evidence.Explained:
		return "more expensive only because of its callees", true
	case samePair && v.State == evidence.NotProven:
		return fmt.Sprintf("the same comparison shows %s now, which is not significant", output.Change(*v.ChangePercent)), true
	case string(v.Basis) == a.Basis && v.HeadNSPerCall <= a.Base+max(a.Base*thresholdPercent/100, residual*(a.Head-a.Base)):
		return fmt.Sprintf("version %s takes %s per call; before the alert it took %s", c.HeadVersion, output.Nanos(v.HeadNSPerCall), output.Nanos(a.Base)), true
	}
	return "", false
}
