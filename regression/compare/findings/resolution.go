package findings

import (
	"fmt"
	"slices"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/output"
)

// ByComparisons returns a function that reports whether an open alert that an evaluation did not raise again is
// resolved, and why. It is resolved if the alert's base version is back as the head. Otherwise it stays open while
// the newest version costs more than the alert's base by the threshold, with any base, and while there is no
// verdict.
func ByComparisons(comparisons []*pairs.Comparison, thresholdPercent float64) func(*alert.Alert) (why string, resolved bool) {
	return func(a *alert.Alert) (string, bool) { return resolved(a, comparisons, thresholdPercent) }
}

func resolved(a *alert.Alert, comparisons []*pairs.Comparison, thresholdPercent float64) (why string, resolved bool) {
	if !slices.Contains([]string{alert.Regression, alert.MoreCalls, alert.WholeService}, a.Kind) {
		return "", false
	}
	for _, c := range comparisons {
		if c.Namespace != a.ServiceNamespace || c.Name != a.Service || c.Environment != a.Environment || a.Kind != alert.Regression && string(c.Metric) != a.Metric {
			continue
		}
		if c.HeadVersion == a.BaseVersion && c.BaseVersion == a.HeadVersion {
			return fmt.Sprintf("version %s, which it is compared with, is back", c.HeadVersion), true
		}
		if a.Kind != alert.Regression {
			return notShown(a, c)
		}
		for i := range c.Methods {
			l := &c.Methods[i]
			if l.Class != a.Class || l.Method != a.Method || l.Metric != a.Metric {
				continue
			}
			return resolvedByLine(a, c, l, thresholdPercent)
		}
	}
	return "", false
}

// notShown handles alerts that are not about one method: only a comparison of the same versions can resolve them.
func notShown(a *alert.Alert, c *pairs.Comparison) (string, bool) {
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

// resolvedByLine reports whether the verdict l on the method resolves its alert, and why.
func resolvedByLine(a *alert.Alert, c *pairs.Comparison, l *evidence.Verdict, thresholdPercent float64) (string, bool) {
	samePair := c.BaseVersion == a.BaseVersion && c.HeadVersion == a.HeadVersion
	switch {
	case l.State == evidence.Gone:
		return fmt.Sprintf("version %s does not call it", c.HeadVersion), true
	case !l.State.Judged() || l.Basis == "":
		return "", false
	case samePair && l.State == evidence.Explained:
		return "more expensive only because of its callees", true
	case samePair && l.State == evidence.NotProven:
		return fmt.Sprintf("the same comparison shows %+.1f%% now, which is not significant", *l.ChangePercent), true
	case string(l.Basis) == a.Basis && l.HeadNSPerCall <= a.Base+max(a.Base*thresholdPercent/100, residual*(a.Head-a.Base)):
		return fmt.Sprintf("version %s takes %s per call; before the alert it took %s", c.HeadVersion, output.Nanos(l.HeadNSPerCall), output.Nanos(a.Base)), true
	}
	return "", false
}
