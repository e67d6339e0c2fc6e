package query

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// Older collectors stored every number that a sender reported, and other programs can write files, too. Impossible
// numbers are therefore read as missing, as methodspan.Row.Bound removes them. Otherwise they would make sums
// overflow or change the figures of other services.

// often lists the columns that nearly every statement reads, with their limits. They are checked by the minimum and
// maximum of their row groups, because a check of each value would cost a tenth of a statement.
// A time beyond its limits counts as not measured, so the value of a column can depend on other columns.
var often = []limits{
	{"measured", 0, methodspan.MostMeasured, "0", timed}, {"cpu_measured", 0, methodspan.MostMeasured, "0", cpuTimed},
	{"calls", 0, methodspan.MostTime, "0", nil}, {"errors", 0, methodspan.MostTime, "0", nil},
	{"wall_ns", 0, methodspan.MostTime, "NULL", timed}, {"cpu_ns", 0, methodspan.MostTime, "NULL", cpuTimed},
	{"p", methodspan.LeastP, methodspan.MostP, "NULL", nil}, {"cpu_p", methodspan.LeastP, methodspan.MostP, "NULL", []string{"p", "cpu_p"}},
	{"usd_per_core_hour", 0, methodspan.MostUSD, "NULL", nil},
}

var timed, cpuTimed = []string{"measured", "wall_ns"}, []string{"cpu_measured", "cpu_ns"}

// seldom lists the columns that few rows have a value in. Their values are always checked one by one.
var seldom = []limits{
	{"rss_bytes", 0, methodspan.MostTime, "NULL", nil}, {"calls_total", 0, methodspan.MostMeasured, "NULL", nil},
	{"wall_max_ns", 0, methodspan.MostTime, "NULL", timed}, {"cpu_max_ns", 0, methodspan.MostTime, "NULL", cpuTimed},
	{"wall_sq", 0, methodspan.MostSquares, "NULL", timed}, {"cpu_sq", 0, methodspan.MostSquares, "NULL", cpuTimed},
	{"cpu_waits", 0, methodspan.MostTime, "NULL", cpuTimed},
	{"cores", 0, methodspan.MostCores, "NULL", nil}, {"host_cores", 0, methodspan.MostCores, "NULL", nil}, {"cpu_limit", 0, methodspan.MostCores, "NULL", nil},
}

// limits are the lower and upper limit of a column. The value otherwise replaces a value beyond them, and a value
// in a row where one of the columns in needs is beyond its own limits.
type limits struct {
	column      string
	least, most float64
	otherwise   string
	needs       []string // columns of often
}

// holds returns the condition that the column is within its limits. In rollup rows, cores are the sum over
// all processes, and a probability stands for a weight, which can be negative. The weight of CPU is the
// product of p and cpu_p: where wall time has no weight, cpu_p compensates for it.
func (l limits) holds() string {
	column, least, most := l.column, number(l.least), number(l.most)
	switch {
	case l.least > 0:
		if column == "cpu_p" {
			column, least = "p * cpu_p", number(l.least*l.least)
		}
		return fmt.Sprintf("(%[1]s BETWEEN %[2]s AND %[3]s OR level <> '%[4]s' AND %[1]s BETWEEN -%[3]s AND -%[2]s)", column, least, most, methodspan.LevelRaw)
	case l.most == methodspan.MostCores:
		return fmt.Sprintf("%[1]s BETWEEN %[2]s AND CASE level WHEN '%[4]s' THEN %[3]s ELSE %[5]s END", column, least, most, methodspan.LevelRaw, number(methodspan.MostTime))
	}
	return fmt.Sprintf("%s BETWEEN %s AND %s", column, least, most)
}

// bounded returns the expression that replaces values of the column beyond the limits, or "" if the statistics
// show that there are none. Look contains the columns whose values must be checked; always checks the column anyway.
func (l limits) bounded(always bool, look map[string]bool) string {
	var conditions []string
	if always {
		conditions = append(conditions, l.holds())
	}
	for _, o := range often {
		if own := o.column == l.column; look[o.column] && (own || slices.Contains(l.needs, o.column)) {
			condition := o.holds()
			if !own {
				condition = fmt.Sprintf("COALESCE(%s, %s IS NULL)", condition, o.column)
			}
			conditions = append(conditions, condition)
		}
	}
	if len(conditions) == 0 {
		return ""
	}
	return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END AS %[2]s", strings.Join(conditions, " AND "), l.column, l.otherwise)
}

// number formats whole numbers without an exponent: with one they are DOUBLE, which compares more slowly.
func number(x float64) string {
	if x == math.Trunc(x) && x <= methodspan.MostTime {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// bounds are the replacements and filters that the rows of some files need.
type bounds struct {
	now time.Time
	// look contains the columns of often that can have a value beyond the limits according to the statistics of
	// a row group, and end_ns.
	look map[string]bool
	// same contains the replacements of text columns that have the same value, or NULL, in all rows. These columns
	// are not read, nor compared in each row. Most warehouses contain rows of one level, and most of their text
	// columns are empty.
	same []string
}

// until returns the latest start, in ns, of a row that is read.
func (b bounds) until() int64 { return methodspan.Until(b.now) }

// within returns the relation without impossible numbers. Filters are still pushed down to the files, because
// the columns that they compare are unchanged.
func (b bounds) within(relation string) string {
	var replaced []string
	if b.look["end_ns"] {
		replaced = append(replaced, fmt.Sprintf("CASE WHEN end_ns BETWEEN start_ns AND %d THEN end_ns ELSE start_ns END AS end_ns", b.until()))
	}
	for _, l := range often {
		if column := l.bounded(false, b.look); column != "" {
			replaced = append(replaced, column)
		}
	}
	for _, l := range seldom {
		replaced = append(replaced, l.bounded(true, b.look))
	}
	replaced = append(replaced, b.same...)
	return fmt.Sprintf("SELECT * REPLACE (%s) FROM (%s) WHERE start_ns BETWEEN 0 AND %d", strings.Join(replaced, ", "), relation, b.until())
}

// boundsStatement returns the query of the files' metadata for columns whose values must be checked, and for
// text columns with a single value.
func boundsStatement(paths []string, until int64) string {
	known := []string{fmt.Sprintf("('end_ns', 0, %d)", until), "('start_ns', NULL, NULL)", "('level', NULL, NULL)"}
	for _, l := range often {
		known = append(known, fmt.Sprintf("('%s', %s, %s)", l.column, number(l.least), number(l.most)))
	}
	var texts []string
	for _, c := range columns.All {
		if c.Type == columns.String {
			texts = append(texts, quoteText(c.Name))
		}
	}
	return `
WITH limits(name, least, most) AS (VALUES ` + strings.Join(known, ", ") + `),
chunks AS MATERIALIZED (
  SELECT
    file_name, row_group_id, path_in_schema AS name, stats_min_value AS least, stats_max_value AS most,
    COALESCE(stats_null_count = 0, FALSE) AS filled, COALESCE(stats_null_count = num_values, FALSE) AS empty,
    COALESCE(min_is_exact, TRUE) AND COALESCE(max_is_exact, TRUE) AS exact
  FROM parquet_metadata(` + listOf(paths) + `)
),
said AS (
  SELECT
    m.file_name, m.row_group_id, l.name, m.least, TRY_CAST(m.most AS DOUBLE) AS most, m.filled,
    l.most IS NULL OR m.empty OR COALESCE(TRY_CAST(m.least AS DOUBLE) >= l.least AND TRY_CAST(m.most AS DOUBLE) <= l.most, FALSE) AS within
  FROM chunks AS m
  JOIN limits AS l ON l.name = m.name
),
groups AS (
  SELECT
    COALESCE(MAX(CASE name WHEN 'level' THEN least END) <> '` + methodspan.LevelRaw + `' OR BOOL_OR(name = 'end_ns' AND filled)
      OR MAX(CASE name WHEN 'start_ns' THEN most END) + COALESCE(MAX(CASE name WHEN 'wall_ns' THEN most END), 0) <= ` + fmt.Sprint(until) + `, FALSE) AS ends,
    COALESCE(MAX(CASE name WHEN 'p' THEN most END) * MAX(CASE name WHEN 'cpu_p' THEN most END) <= ` + number(methodspan.MostP) + `, TRUE) AS products
  FROM said
  GROUP BY file_name, row_group_id
)
SELECT DISTINCT name, TRUE, NULL FROM said WHERE NOT within
UNION SELECT 'end_ns', TRUE, NULL FROM groups WHERE NOT ends
UNION SELECT 'cpu_p', TRUE, NULL FROM groups WHERE NOT products
UNION
SELECT name, FALSE, MIN(least)
FROM chunks
WHERE name IN (` + strings.Join(texts, ", ") + `)
GROUP BY name
HAVING BOOL_AND(empty)
  OR BOOL_AND(filled AND exact) AND MIN(least) = MAX(most) AND COUNT(*) = (SELECT COUNT(*) FROM chunks WHERE name = 'start_ns')
ORDER BY name`
}

// boundsOf reads the statistics of row groups for the columns of often. The end of a row can be missing where it
// follows from the wall time. cpu_p is also checked where the product p * cpu_p can be beyond its limits.
// The same statistics show which text columns have a single value.
func boundsOf(ctx context.Context, db *sql.DB, files []parquet.File, now time.Time) (bounds, error) {
	b := bounds{now: now, look: map[string]bool{}}
	paths, err := patternsOf(files)
	if err != nil {
		return b, err
	}
	rows, err := db.QueryContext(ctx, boundsStatement(paths, b.until()))
	if err != nil {
		return b, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var look bool
		var value sql.NullString
		if err := rows.Scan(&name, &look, &value); err != nil {
			return b, err
		}
		switch {
		case look:
			b.look[name] = true
		case !value.Valid:
			b.same = append(b.same, "CAST(NULL AS "+columns.String.DuckDB+") AS "+name)
		case !strings.ContainsFunc(value.String, unicode.IsControl): // control characters do not belong in a statement
			b.same = append(b.same, quoteText(value.String)+" AS "+name)
		}
	}
	return b, rows.Err()
}

// Impossible is the number of rows of a service that have numbers read as missing, or that start in the future
// and are not read.
type Impossible struct {
	Service
	Rows int64
}

// Impossible returns the services that have such rows. It returns nothing for a table in BigQuery.
func (w *Warehouse) Impossible(ctx context.Context, window Window, f Filter) (out []Impossible, err error) {
	if !w.InFiles() {
		return nil, nil
	}
	wrong := []string{fmt.Sprintf("start_ns > %d", w.bounds.until())}
	if w.bounds.look["end_ns"] {
		wrong = append(wrong, fmt.Sprintf("end_ns NOT BETWEEN start_ns AND %d", w.bounds.until()))
	}
	looked := slices.Clone(seldom)
	for _, l := range often {
		if w.bounds.look[l.column] {
			looked = append(looked, l)
		}
	}
	for _, l := range looked {
		wrong = append(wrong, fmt.Sprintf("%s IS NOT NULL AND NOT COALESCE(%s, FALSE)", l.column, l.holds()))
	}
	s := scope{dialect: w.dialect, Filter: f, NoFrameworks: w.noFrameworks}
	args := filterArgs(window, f)
	named := make([]any, 0, len(args))
	for name, value := range args {
		named = append(named, sql.Named(name, value))
	}
	rows, err := w.db.QueryContext(ctx, fmt.Sprintf("SELECT %[1]s, COUNT(*) FROM method_stored WHERE start_ns >= $from_ns AND start_ns < $to_ns AND (%[2]s)%[3]s GROUP BY %[1]s ORDER BY %[1]s",
		s.Service(""), strings.Join(wrong, " OR "), s.Only("")), named...)
	if err != nil {
		return nil, fmt.Errorf("query impossible: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var i Impossible
		if err := rows.Scan(nullable(&i.Namespace), nullable(&i.Name), nullable(&i.Environment), &i.Rows); err != nil {
			return nil, err
		}
		out = append(out, i)
	}
	return out, rows.Err()
}
