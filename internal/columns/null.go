package columns

import "github.com/corehour/corehour/internal/methodspan"

type row = methodspan.Row

// known has a function for each column whose zero value does not decide whether it is NULL. The
// functions of OfProcess columns are called only for rows with that part.
var known = map[string]func(*row) bool{
	"wall_ns":     func(r *row) bool { return r.Measured > 0 },
	"cpu_ns":      func(r *row) bool { return r.CPUMeasured > 0 },
	"wall_sq":     func(r *row) bool { return squaresKnown(r.Measured, r.WallSq) },
	"cpu_sq":      func(r *row) bool { return squaresKnown(r.CPUMeasured, r.CPUSq) },
	"wall_max_ns": func(r *row) bool { return maximumKnown(r.Measured, r.WallNS, r.WallMaxNS) },
	"cpu_max_ns":  func(r *row) bool { return maximumKnown(r.CPUMeasured, r.CPUNS, r.CPUMaxNS) },
	"cores":       func(r *row) bool { return !r.Process.Summed || r.Process.Cores > 0 },
	"rss_bytes":   func(r *row) bool { return !r.Process.Summed },
	"calls_total": func(r *row) bool { return !r.Process.Summed && r.Process.CallsTotal != methodspan.TotalNotGiven },
	"final":       func(r *row) bool { return !r.Process.Summed },
	"sdk_stats":   func(r *row) bool { return len(r.Process.Stats) > 0 },
}

// Known returns a function that reports whether a row has a value of the column. It is nil if zero
// means NULL, or if the column is required.
func (c *Column) Known() func(*methodspan.Row) bool { return known[c.Name] }

// squaresKnown reports whether a sum of squares does not follow from the sum.
func squaresKnown(measured int64, squares float64) bool {
	return measured > 1 || measured == 1 && squares != 0
}

// maximumKnown reports whether a maximum does not follow from the sum.
func maximumKnown(measured, sum, maximum int64) bool {
	return measured > 0 && !methodspan.MaximumFollows(measured, sum, maximum)
}
