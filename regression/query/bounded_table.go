package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/methodspan"
)

// BigQuery aborts the whole statement, for all services, if one number overflows. Impossible numbers are
// therefore replaced when its table is read, and values that grow with powers of numbers are clamped.
// Each column is checked by itself, because BigQuery does not bill columns that a statement does not name.
// For limits that depend on other columns, see the statement in docs/guides/bigquery.md.

// leastCalls is a lower bound of calls: a row with calls counts at least 1. It keeps divisors away from 0.
const leastCalls = 1e-9

// boundedInTable returns the expression that replaces values of the column beyond its own limits. Rows in BigQuery are
// raw, but one can stand for several calls, so cpu_p can exceed 1.
func (l limits) boundedInTable() string {
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

// Bounded returns the rows of the given partitions of BigQuery's table, with impossible numbers replaced.
// Impossible times become NULL.
func (d dialect) Bounded(table, partitions string) string {
	until := d.until()
	columns := []string{
		"CASE WHEN start_ns BETWEEN 0 AND " + until + " THEN start_ns END AS start_ns",
		"CASE WHEN end_ns BETWEEN start_ns AND " + until + " THEN end_ns ELSE start_ns END AS end_ns",
		"CASE WHEN process_start_ns BETWEEN 0 AND " + until + " THEN process_start_ns END AS process_start_ns",
	}
	for _, l := range slices.Concat(often, seldom) {
		columns = append(columns, l.boundedInTable())
	}
	for _, histogram := range []string{"wall_hist", "cpu_hist"} {
		columns = append(columns, fmt.Sprintf("CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(%[1]s) AS h WHERE NOT (h.bin BETWEEN 0 AND %[2]d AND (h.n = 0 OR h.n BETWEEN %[3]s AND %[4]s))) THEN %[1]s END AS %[1]s",
			histogram, methodspan.MaxBin, number(methodspan.LeastP), number(methodspan.MostTime)))
	}
	return "(SELECT * REPLACE (" + strings.Join(columns, ", ") + ") FROM " + table + " WHERE " + partitions + ")"
}

// clamps are limits far beyond possible values.
var clamps = map[string]float64{
	"factor":   1e30, // of a weight cell
	"share":    1e15, // of a caller in the calls of a method
	"mean":     1e20, // ns a call
	"residual": 1e90, // ns of a cluster
}

// Clamp limits an expression to the clamp of that name in both directions. It applies to BigQuery only.
func (d dialect) Clamp(expression, name string) string {
	if !d.bigquery {
		return expression
	}
	most := number(clamps[name])
	return "LEAST(GREATEST(" + expression + ", -" + most + "), " + most + ")"
}
