package output

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// rounded rounds x to three digits. Rounding comes before the choice of a unit: 999.96 us are 1 ms.
func rounded(x float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil {
		return x
	}
	return r
}

// finite reports whether x can be printed as a figure.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

const (
	// smallest is the smallest printed number other than 0; smaller ones print as less than it.
	smallest = 1e-6
	// largest is the first number that is printed with an exponent.
	largest = 1e15
)

// fixed formats x with a number of decimals (-1: those that it needs), without a sign of zero.
func fixed(x float64, decimals int) string {
	switch a := math.Abs(x); {
	case !finite(x):
		return Unknown
	case a >= largest:
		return strconv.FormatFloat(x, 'g', 3, 64)
	case a > 0 && a < smallest/2:
		return "<" + strconv.FormatFloat(smallest, 'f', -1, 64)
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if !strings.ContainsAny(text, "123456789") {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// Rounded formats a number with three digits.
func Rounded(x float64) string { return fixed(rounded(x), -1) }

// Nanos formats a duration given in ns with three digits.
func Nanos(ns float64) string {
	if !finite(ns) {
		return Unknown
	}
	ns = rounded(ns)
	for _, unit := range []struct {
		size, from float64
		name       string
	}{{3.6e12, 7.2e12, "h"}, {6e10, 6e11, "min"}, {1e9, 1e9, "s"}, {1e6, 1e6, "ms"}, {1e3, 1e3, "us"}} {
		if math.Abs(ns) >= unit.from {
			return Rounded(ns/unit.size) + unit.name
		}
	}
	return Rounded(ns) + "ns"
}

// NanosChange formats two durations given in ns, with their unit once if they share it: 19.9 -> 34.7 us.
func NanosChange(before, after float64) string {
	split := func(ns float64) (number, unit string) {
		s := Nanos(ns)
		at := strings.LastIndexAny(s, "0123456789") + 1
		return s[:at], s[at:]
	}
	from, unit := split(before)
	to, toUnit := split(after)
	if unit == toUnit {
		return from + " -> " + to + " " + toUnit
	}
	return from + " " + unit + " -> " + to + " " + toUnit
}

// Amount formats dollars or core hours with two decimals. A small amount has as many decimals as three digits need.
func Amount(x float64) string {
	decimals := 2
	if a := rounded(math.Abs(x)); a > 0 && a < 1 {
		decimals = 2 - int(math.Floor(math.Log10(a)))
	}
	return fixed(x, min(decimals, 8))
}

// Unknown is printed for an unknown figure.
const Unknown = "-"

// Known formats a figure by show, or returns Unknown if x is nil.
func Known(x *float64, show func(float64) string) string {
	if x == nil {
		return Unknown
	}
	return show(*x)
}

// AmountOf formats an amount that can be unknown.
func AmountOf(x *float64) string { return Known(x, Amount) }

// NanosOf formats a duration that can be unknown.
func NanosOf(ns *float64) string { return Known(ns, Nanos) }

// PercentOf formats a share that can be unknown, with one decimal.
func PercentOf(share *float64) string { return Known(share, percent) }

func percent(share float64) string {
	switch x := 100 * share; {
	case !finite(x):
		return Unknown
	case math.Abs(x) >= 1000:
		return bounded(x)
	case x > 0 && x < 0.05:
		return "<0.1%"
	default:
		return fixed(x, 1) + "%"
	}
}

// bounded formats a percentage that is too large to be exact.
func bounded(percent float64) string {
	if percent > 0 {
		return ">999%"
	}
	return "<-999%"
}

// Share formats a probability or a relative error with three digits.
func Share(x float64) string {
	if text := Rounded(100 * x); text != Unknown {
		return text + "%"
	}
	return Unknown
}

// Count formats a number of calls, which can be an estimate, as a whole number.
func Count(x float64) string { return fixed(math.Round(x), 0) }

// Calls formats a number of calls. It is a lower bound if some of them are assumed, and an estimate with its 95%
// interval if it has a standard error.
func Calls(calls, assumed, se float64) string {
	switch {
	case assumed > 0:
		return ">= " + Count(calls)
	case se > 0:
		return fmt.Sprintf("~%s ±%s", Count(calls), Count(1.96*se))
	}
	return Count(calls)
}

// Several formats a number with its noun: 1 instance, 2 instances.
func Several(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}

// Change formats a change in percent with its sign. From +1000% on it is a factor.
func Change(percent float64) string {
	factor := 1 + percent/100
	switch {
	case math.IsNaN(percent):
		return Unknown
	case factor >= 1e6:
		return "more than x1000000"
	case percent >= 1000:
		return "x" + Rounded(factor)
	case percent <= -1000:
		return bounded(percent)
	}
	text := fixed(percent, 1) + "%"
	if percent > 0 && text != "0.0%" {
		return "+" + text
	}
	return text
}

// ChangeIn formats a change in percent with its 95% interval.
func ChangeIn(percent float64, interval [2]float64) string {
	return fmt.Sprintf("%s (95%% interval %s to %s)", Change(percent), Change(interval[0]), Change(interval[1]))
}

// RoundChange formats a change in percent for headlines: from 10% on without decimals.
func RoundChange(percent float64) string {
	if x := math.Abs(percent); x >= 10 && x < 1000 {
		return fmt.Sprintf("%+.0f%%", percent)
	}
	return Change(percent)
}

// Interval formats an interval that can be unknown.
func Interval(ends *[2]float64, show func(float64) string) string {
	if ends == nil {
		return Unknown
	}
	return show(ends[0]) + " to " + show(ends[1])
}

// Time formats a time in a time zone.
func Time(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("2006-01-02 15:04:05 MST")
}

// Priced formats dollars that can be unknown, and marks a public list price as generic.
func Priced(usd *float64, generic bool) string {
	if usd != nil && generic {
		return Amount(*usd) + " generic"
	}
	return AmountOf(usd)
}
