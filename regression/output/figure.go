package output

import (
	"fmt"
	"math"
)

// Nanos shows a duration given in ns with three digits.
func Nanos(ns float64) string {
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
