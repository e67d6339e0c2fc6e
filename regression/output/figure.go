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

// Rounded formats a number with three digits.
func Rounded(x float64) string { return strconv.FormatFloat(rounded(x), 'f', -1, 64) }

// Nanos formats a duration given in ns with three digits.
func Nanos(ns float64) string {
	ns = rounded(ns)
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		if math.Abs(ns) >= unit.size {
			return fmt.Sprintf("%.3g%s", ns/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.3gns", ns)
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
		decimals = min(12, 2-int(math.Floor(math.Log10(a))))
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
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
func PercentOf(share *float64) string {
	return Known(share, func(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) })
}

// Share formats a probability or a relative error with three digits.
func Share(x float64) string { return strconv.FormatFloat(100*x, 'g', 3, 64) + "%" }

// Count formats a number of calls, which can be an estimate, as a whole number.
func Count(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }

// Several formats a number with its noun: 1 instance, 2 instances.
func Several(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}

// Change formats a change in percent with its sign.
func Change(percent float64) string { return fmt.Sprintf("%+.1f%%", percent) }

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
