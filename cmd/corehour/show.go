package main

import (
	"fmt"
	"math"

	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
)

// bounds shows the interval of a self cost as shares of it.
func bounds(l *cost.Line) string {
	if l.SelfCoreHoursInterval == nil || !(*l.SelfCoreHours > 0) {
		return output.Unknown
	}
	share := func(x float64) string {
		if share := 100 * (x / *l.SelfCoreHours - 1); math.Abs(share) <= 999 {
			return fmt.Sprintf("%+.1f%%", share)
		} else if share > 0 {
			return ">+999%"
		}
		return "<-999%"
	}
	return share(l.SelfCoreHoursInterval[0]) + " " + share(l.SelfCoreHoursInterval[1])
}
