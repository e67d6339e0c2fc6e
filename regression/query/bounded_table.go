package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/methodspan"
)

// BigQuery ends a statement, for all services, if one number overflows. So its table is read
// without numbers that can make others overflow, and what grows with powers of them is clamped.
// A column is bounded by itself: the columns that a statement does not name are not billed.
// Limits that depend on other columns are those of the statement on docs/guides/bigquery.md.

// leastCalls is less than a row with calls ever counts: 1. Fewer would be divided by.
const leastCalls = 1e-9

// alone is the column with what stands for values beyond limits of its own. Rows of BigQuery are
// no sums, but may be of several calls, so cpu_p may exceed 1.
func (l limits) alone() string {
	least, most := l.least, l.most
	switch l.column {
	case "p":
		most = 1
	case "cpu_p":
		most = 1 / methodspan.LeastP
	case "calls":
		least = leastCalls
	}
	return fmt.Sprintf("CASE WHEN %[1]s BETWEEN %[2]s AND %[3]s THEN %[1]s ELSE %[4]s END AS %[1]s", l.column, number(least), number(most), l.otherwise)
}

// Bounded is the rows of BigQuery's table in some partitions, without such numbers. Rows of
// no possible time have none.
func (d dialect) Bounded(table, partitions string) string {
	until := d.until()
	columns := []string{
		"CASE WHEN start_ns BETWEEN 0 AND " + until + " THEN start_ns END AS start_ns",
		"CASE WHEN end_ns BETWEEN start_ns AND " + until + " THEN end_ns ELSE start_ns END AS end_ns",
		"CASE WHEN process_start_ns BETWEEN 0 AND " + until + " THEN process_start_ns END AS process_start_ns",
	}
	for _, l := range slices.Concat(often, seldom) {
		columns = append(columns, l.alone())
	}
	for _, histogram := range []string{"wall_hist", "cpu_hist"} {
		columns = append(columns, fmt.Sprintf("CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(%[1]s) AS h WHERE NOT (h.bin BETWEEN 0 AND %[2]d AND (h.n = 0 OR h.n BETWEEN %[3]s AND %[4]s))) THEN %[1]s END AS %[1]s",
			histogram, methodspan.MaxBin, number(methodspan.LeastP), number(methodspan.MostTime)))
	}
	return "(SELECT * REPLACE (" + strings.Join(columns, ", ") + ") FROM " + table + " WHERE " + partitions + ")"
}

// clamps are far beyond what is possible.
var clamps = map[string]float64{
	"factor":   1e30, // of a weight cell
	"share":    1e15, // of a caller in the calls of a method
	"mean":     1e20, // ns a call
	"residual": 1e90, // ns of a cluster
}

// Clamp is an expression no further from zero than its clamp.
func (d dialect) Clamp(expression, name string) string {
	if !d.bigquery {
		return expression
	}
	most := number(clamps[name])
	return "LEAST(GREATEST(" + expression + ", -" + most + "), " + most + ")"
}
