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

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/parquet"
)

// Collectors once stored whatever a sender said, and other programs may write files, too. So
// numbers that cannot be true are read as not given, as methodspan.Row.Bound takes them out: they
// would make sums overflow, or change the figures of other services.

// ahead is how far the clock of a row may be ahead of that of the reader. What starts further in
// the future is not read.
const ahead = time.Hour

// often are the columns that nearly every statement reads, with their limits. Row groups say
// what is in them at least and at most; to look at each value would cost a tenth of a statement.
var often = []limits{
	{"measured", 0, methodspan.MostMeasured, "0"}, {"cpu_measured", 0, methodspan.MostMeasured, "0"},
	{"calls", 0, methodspan.MostTime, "0"}, {"errors", 0, methodspan.MostTime, "0"},
	{"wall_ns", 0, methodspan.MostTime, "NULL"}, {"cpu_ns", 0, methodspan.MostTime, "NULL"},
	{"p", methodspan.LeastP, methodspan.MostP, "NULL"}, {"cpu_p", methodspan.LeastP, methodspan.MostP, "NULL"},
	{"usd_per_core_hour", 0, methodspan.MostUSD, "NULL"},
}

// seldom are those of few rows, most of which say nothing of a group.
var seldom = []limits{
	{"rss_bytes", 0, methodspan.MostTime, "NULL"}, {"calls_total", 0, methodspan.MostMeasured, "NULL"},
	{"wall_max_ns", 0, methodspan.MostTime, "NULL"}, {"cpu_max_ns", 0, methodspan.MostTime, "NULL"},
	{"wall_sq", 0, methodspan.MostSquares, "NULL"}, {"cpu_sq", 0, methodspan.MostSquares, "NULL"},
	{"cores", 0, methodspan.MostCores, "NULL"}, {"host_cores", 0, methodspan.MostCores, "NULL"}, {"cpu_limit", 0, methodspan.MostCores, "NULL"},
}

// limits are those of a column, and what stands for a value beyond them.
type limits struct {
	column      string
	least, most float64
	otherwise   string
}

// holds is the condition that the column is within them. Of rows that were added up, cores are
// those of all their processes, and a probability stands for a weight, which may be below zero. Of
// CPU that is the product of both: where wall time is weightless, cpu_p makes up for it.
func (l limits) holds() string {
	column, least, most := l.column, number(l.least), number(l.most)
	switch {
	case l.least > 0:
		if column == "cpu_p" {
			column, least = "p * cpu_p", number(l.least*l.least)
		}
		return fmt.Sprintf("%[1]s BETWEEN %[2]s AND %[3]s OR level <> '%[4]s' AND %[1]s BETWEEN -%[3]s AND -%[2]s", column, least, most, methodspan.LevelRaw)
	case l.most == methodspan.MostCores:
		return fmt.Sprintf("%[1]s BETWEEN %[2]s AND CASE level WHEN '%[4]s' THEN %[3]s ELSE %[5]s END", column, least, most, methodspan.LevelRaw, number(methodspan.MostTime))
	}
	return fmt.Sprintf("%s BETWEEN %s AND %s", column, least, most)
}

func (l limits) bounded() string {
	return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END AS %[2]s", l.holds(), l.column, l.otherwise)
}

// number is without an exponent where that makes it a whole one: DOUBLE compares slower.
func number(x float64) string {
	if x == math.Trunc(x) && x <= methodspan.MostTime {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// bounds are what rows of some files need.
type bounds struct {
	now   time.Time
	sound bool // row groups have no such number in the columns that are read often
}

// until is when the last row that is read starts.
func (b bounds) until() int64 { return b.now.Add(ahead).UnixNano() }

// within is a relation without such numbers. Filters still reach the files: what they compare
// is as it was.
func (b bounds) within(relation string) string {
	var columns []string
	if !b.sound {
		columns = append(columns, fmt.Sprintf("CASE WHEN end_ns BETWEEN start_ns AND %d THEN end_ns ELSE start_ns END AS end_ns", b.until()))
		for _, l := range often {
			columns = append(columns, l.bounded())
		}
	}
	for _, l := range seldom {
		columns = append(columns, l.bounded())
	}
	return fmt.Sprintf("SELECT * REPLACE (%s) FROM (%s) WHERE start_ns BETWEEN 0 AND %d", strings.Join(columns, ", "), relation, b.until())
}

// boundsOf looks at what row groups say of the columns that are read often. The end of a row
// may be left out where it follows from its wall time.
func boundsOf(ctx context.Context, db *sql.DB, files []parquet.File, now time.Time) (bounds, error) {
	b := bounds{now: now}
	paths, err := patternsOf(files)
	if err != nil {
		return b, err
	}
	until := b.until()
	known := []string{fmt.Sprintf("('end_ns', 0, %d)", until), "('start_ns', NULL, NULL)", "('level', NULL, NULL)"}
	for _, l := range often {
		known = append(known, fmt.Sprintf("('%s', %s, %s)", l.column, number(l.least), number(l.most)))
	}
	err = db.QueryRowContext(ctx, `
WITH limits(name, least, most) AS (VALUES `+strings.Join(known, ", ")+`),
said AS (
  SELECT
    BOOL_AND(l.most IS NULL OR COALESCE(m.stats_null_count = m.num_values, FALSE)
      OR COALESCE(TRY_CAST(m.stats_min_value AS DOUBLE) >= l.least AND TRY_CAST(m.stats_max_value AS DOUBLE) <= l.most, FALSE)) AS within,
    MAX(CASE WHEN l.name = 'start_ns' THEN TRY_CAST(m.stats_max_value AS DOUBLE) END) AS last_ns,
    MAX(CASE WHEN l.name = 'wall_ns' THEN TRY_CAST(m.stats_max_value AS DOUBLE) END) AS longest_ns,
    MAX(CASE WHEN l.name = 'level' THEN m.stats_min_value END) AS finest
  FROM parquet_metadata(`+listOf(paths)+`) AS m
  JOIN limits AS l ON l.name = m.path_in_schema
  GROUP BY m.file_name, m.row_group_id
)
SELECT COALESCE(BOOL_AND(within AND (finest <> '`+methodspan.LevelRaw+`' OR last_ns + COALESCE(longest_ns, 0) <= `+fmt.Sprint(until)+`)), FALSE) FROM said`).Scan(&b.sound)
	return b, err
}

// Impossible is how many rows of a service have numbers that are read as not given, or start in
// the future and are not read.
type Impossible struct {
	Service
	Rows int64
}

// Impossible lists it for the services that have any. It is not known of BigQuery's table, which
// is read as it is.
func (w *Warehouse) Impossible(ctx context.Context, window Window, f Filter) (out []Impossible, err error) {
	if !w.InFiles() {
		return nil, nil
	}
	looked, wrong := seldom, []string{fmt.Sprintf("start_ns > %d", w.bounds.until())}
	if !w.bounds.sound {
		looked = slices.Concat(often, seldom)
		wrong = append(wrong, fmt.Sprintf("end_ns NOT BETWEEN start_ns AND %d", w.bounds.until()))
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
		if err := rows.Scan(into(&i.Namespace), into(&i.Name), into(&i.Environment), &i.Rows); err != nil {
			return nil, err
		}
		out = append(out, i)
	}
	return out, rows.Err()
}
