package output

import (
	"fmt"
	"math"
	"strconv"
)

// rounded keeps three digits. What is shown is rounded first: 999.96 us are 1 ms.
func rounded(x float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil {
		return x
	}
	return r
}

// Rounded shows a number with three digits.
func Rounded(x float64) string { return strconv.FormatFloat(rounded(x), 'f', -1, 64) }

// Nanos shows a duration given in ns with three digits.
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

// Amount shows dollars or core hours: two decimals, or as many as three digits of
// a small amount take.
func Amount(x float64) string {
	decimals := 2
	if a := rounded(math.Abs(x)); a > 0 && a < 1 {
		decimals = min(12, 2-int(math.Floor(math.Log10(a))))
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}
