package main

import (
	"fmt"
	"math"
	"strconv"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
)

// unknown stands for a figure that is not known.
const unknown = "-"

// amount shows dollars or core hours that may be unknown.
func amount(x *float64) string {
	if x == nil {
		return unknown
	}
	return output.Amount(*x)
}

func wholeNumber(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }

func percent(x *float64) string {
	if x == nil {
		return unknown
	}
	return fmt.Sprintf("%.1f%%", 100**x)
}

// bounds shows the interval of a self cost as shares of it.
func bounds(l *cost.Line) string {
	if l.SelfCoreHoursInterval == nil || !(*l.SelfCoreHours > 0) {
		return unknown
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

// nanos shows a duration that may be unknown.
func nanos(ns *float64) string {
	if ns == nil {
		return unknown
	}
	return output.Nanos(*ns)
}

func fullName(class, method, signature string) string {
	return methodspan.Function{Class: class, Method: method}.Full() + signature
}
