package alert

import (
	"github.com/corehour/corehour/regression/output"
)

// Levels describes in words the level before, the level after, and their unit.
type Levels struct{ Before, After, Of string }

// LevelsOf returns the levels of an alert of a kind. A whole service has no level, only a change in percent.
func LevelsOf(kind, metric string, base, head, changePercent float64) Levels {
	switch {
	case kind == Budget:
		return Levels{"$" + output.Amount(base), "$" + output.Amount(head), "a day"}
	case kind == MoreCalls:
		return Levels{output.Rounded(base), output.Rounded(head), "calls per call of its caller"}
	case !(head > 0):
		after := "any change"
		if changePercent != 0 {
			after = output.Change(changePercent)
		}
		return Levels{"", after, "of the " + metric + " time that all methods have in common"}
	}
	return Levels{output.Nanos(base), output.Nanos(head), "of " + metric + " time per call"}
}

// Levels returns the levels of the alert.
func (a *Alert) Levels() Levels { return LevelsOf(a.Kind, a.Metric, a.Base, a.Head, a.ChangePercent) }

// Level returns the level after the change with its unit.
func (l Levels) Level() string { return l.After + " " + l.Of }
