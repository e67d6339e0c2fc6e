package alert

import (
	"fmt"

	"github.com/corehour/corehour/regression/output"
)

// Levels are in words what it was, what it is, and of what.
type Levels struct{ Before, After, Of string }

// LevelsOf are those of an alert of a kind. What all methods have in common has no
// level, only a change in percent.
func LevelsOf(kind, metric string, base, head, changePercent float64) Levels {
	switch {
	case kind == Budget:
		return Levels{"$" + output.Amount(base), "$" + output.Amount(head), "a day"}
	case kind == MoreCalls:
		return Levels{output.Rounded(base), output.Rounded(head), "calls per call of its caller"}
	case !(head > 0):
		after := "any change"
		if changePercent != 0 {
			after = fmt.Sprintf("%+.1f%%", changePercent)
		}
		return Levels{"", after, "of the " + metric + " time that all methods have in common"}
	}
	return Levels{output.Nanos(base), output.Nanos(head), "of " + metric + " time per call"}
}

// Levels of the alert.
func (a *Alert) Levels() Levels { return LevelsOf(a.Kind, a.Metric, a.Base, a.Head, a.ChangePercent) }

// Level is what it is now.
func (l Levels) Level() string { return l.After + " " + l.Of }
