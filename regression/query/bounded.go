package query

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/parquet"
)

// Collectors once stored whatever a sender said, and other programs may write files, too. So
// numbers that cannot be true are read as not given: they would make sums overflow, or change
// the figures of other services.
const (
	mostTime  = 1 << 60 // ns, and whatever else a row adds up
	mostCalls = 1 << 53 // that a row has measured
	mostCores = 1 << 16 // of one process
	mostUSD   = 1 << 20 // per hour of a core
	leastP    = "1e-18"
	mostP     = "1e18" // of sums, where it is the reverse of a weight
)

// ahead is how far the clock of a row may be ahead of that of the reader. What starts further in
// the future is not read.
const ahead = time.Hour

// often are the columns that nearly every statement reads, with their limits. Row groups say
// what is in them at least and at most; to look at each value would cost a tenth of a statement.
var often = []struct {
	name, least, most, otherwise string
}{
	{"measured", "0", fmt.Sprint(int64(mostCalls)), "0"},
	{"cpu_measured", "0", fmt.Sprint(int64(mostCalls)), "0"},
	{"calls", "0", fmt.Sprint(int64(mostTime)), "0"},
	{"errors", "0", fmt.Sprint(int64(mostTime)), "0"},
	{"wall_ns", "0", fmt.Sprint(int64(mostTime)), "NULL"},
	{"cpu_ns", "0", fmt.Sprint(int64(mostTime)), "NULL"},
	{"p", leastP, mostP, "NULL"},
	{"cpu_p", leastP, mostP, "NULL"},
	{"usd_per_core_hour", "0", fmt.Sprint(mostUSD), "NULL"},
}

// seldom are those of few rows, most of which say nothing of a group.
var seldom = []string{
	plausible("rss_bytes", "0", fmt.Sprint(int64(mostTime)), "NULL"),
	plausible("calls_total", "0", fmt.Sprint(int64(mostCalls)), "NULL"),
	plausible("wall_max_ns", "0", fmt.Sprint(int64(mostTime)), "NULL"),
	plausible("cpu_max_ns", "0", fmt.Sprint(int64(mostTime)), "NULL"),
	plausible("wall_sq", "0", "1e36", "NULL"),
	plausible("cpu_sq", "0", "1e36", "NULL"),
	cores("cores"), cores("host_cores"), cores("cpu_limit"),
}

func plausible(column, least, most, otherwise string) string {
	return fmt.Sprintf("CASE WHEN %[1]s BETWEEN %[2]s AND %[3]s THEN %[1]s ELSE %[4]s END AS %[1]s", column, least, most, otherwise)
}

// cores of sums are those of all their processes.
func cores(column string) string {
	return fmt.Sprintf("CASE WHEN %[1]s BETWEEN 0 AND CASE level WHEN '%[2]s' THEN %[3]d ELSE %[4]d END THEN %[1]s END AS %[1]s", column, methodspan.LevelRaw, mostCores, int64(mostTime))
}

// bounds are what rows of some files need.
type bounds struct {
	now   time.Time
	sound bool // row groups have no such number in the columns that are read often
}

// within is a relation without such numbers. Filters still reach the files: what they compare
// is as it was.
func (b bounds) within(relation string) string {
	until := b.now.Add(ahead).UnixNano()
	columns := seldom
	if !b.sound {
		columns = append(columns[:len(columns):len(columns)], fmt.Sprintf("CASE WHEN end_ns BETWEEN start_ns AND %d THEN end_ns ELSE start_ns END AS end_ns", until))
		for _, c := range often {
			columns = append(columns, plausible(c.name, c.least, c.most, c.otherwise))
		}
	}
	return fmt.Sprintf("SELECT * REPLACE (%s) FROM (%s) WHERE start_ns BETWEEN 0 AND %d", strings.Join(columns, ", "), relation, until)
}

// boundsOf looks at what row groups say of the columns that are read often. The end of a row
// may be left out where it follows from its wall time.
func boundsOf(ctx context.Context, db *sql.DB, files []parquet.File, now time.Time) (bounds, error) {
	b := bounds{now: now}
	paths, err := patternsOf(files)
	if err != nil {
		return b, err
	}
	until := now.Add(ahead).UnixNano()
	limits := []string{fmt.Sprintf("('end_ns', 0, %d)", until), "('start_ns', NULL, NULL)", "('level', NULL, NULL)"}
	for _, c := range often {
		limits = append(limits, fmt.Sprintf("('%s', %s, %s)", c.name, c.least, c.most))
	}
	err = db.QueryRowContext(ctx, `
WITH limits(name, least, most) AS (VALUES `+strings.Join(limits, ", ")+`),
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
