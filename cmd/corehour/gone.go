package main

import (
	"fmt"
	"slices"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/verdict"
)

// gone reports whether an open alert of a deployment that a look did not raise again went
// away. It has if the version that it is compared with is back. Else it stays open while
// the newest version costs as much more than the alert's base as the threshold asks for,
// whatever that version is compared with now, and while nothing is known.
func (f *findings) gone(a *alert.Alert) (why string, gone bool) {
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
			return notShown(a, c)
		}
		for i := range c.Methods {
			l := &c.Methods[i]
			if l.Class != a.Class || l.Method != a.Method || string(l.Metric) != a.Metric {
				continue
			}
			return f.over(a, c, l)
		}
	}
	return "", false
}

// notShown is for what no line of a comparison is about: only the same comparison can
// tell that it is over.
func notShown(a *alert.Alert, c *verdict.Comparison) (string, bool) {
	judged := c.Told()
	if a.Kind == alert.WholeService {
		judged = c.WholeService != nil
	}
	if !judged || c.BaseVersion != a.BaseVersion || c.HeadVersion != a.HeadVersion {
		return "", false
	}
	if a.Kind == alert.MoreCalls && a.Caller == "" { // of an earlier program
		return "alerts of more calls name the caller now: what still holds is reported again", true
	}
	return "the same comparison does not show it any more", true
}

// leftOver is the part of an alert's growth that may be left when it is over: its base is
// an estimate.
const leftOver = 0.1

func (f *findings) over(a *alert.Alert, c *verdict.Comparison, l *verdict.Line) (string, bool) {
	samePair := c.BaseVersion == a.BaseVersion && c.HeadVersion == a.HeadVersion
	switch {
	case l.State == verdict.Gone:
		return fmt.Sprintf("version %s does not call it", c.HeadVersion), true
	case !l.State.Judged() || l.Basis == "":
		return "", false
	case samePair && l.State == verdict.Explained:
		return "dearer only because of what it calls", true
	case samePair && l.State == verdict.NotProven:
		return fmt.Sprintf("the same comparison shows %+.1f%% now, which is not proven", *l.ChangePercent), true
	case a.Basis == "standardised": // of an earlier program
		return "alerts are of own cost now: what still holds is reported again", true
	case l.Basis == a.Basis && l.HeadNSPerCall <= a.Base+max(a.Base*f.Threshold/100, leftOver*(a.Head-a.Base)):
		return fmt.Sprintf("version %s takes %s per call; before the alert it took %s", c.HeadVersion, output.Nanos(l.HeadNSPerCall), output.Nanos(a.Base)), true
	}
	return "", false
}
