package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

const sqlUsage = `Runs a query of your own against two views, in the SQL of DuckDB, or of BigQuery if
the warehouse is there:

  method_calls   the rows as they are stored, see docs/schema.md
  method_cost    the same with their weights: w (CPU time), w_wall (wall time,
                 errors, callers), cost_usd, and the weight cells

An estimate for all calls is a weighted sum: SUM(w * cpu_ns), SUM(w_wall * wall_ns),
SUM(w_wall * errors). Calls are counted, not estimated: SUM(calls).
Only statements that read are run. --from, --to and --since choose rows of both views
by start_ns, as in every command; weights are formed of all rows of the UTC dates before
that. Rows of several calls (counts, sums) belong to when they start. --service and
--environment do not apply: filter in WHERE. Timestamps are shown in --tz; a DATE, a
TIME and an INTERVAL are shown as they are. With --output all rows go to a Parquet file,
with the types that they have; of BigQuery decimals as DOUBLE, and times, lists and
structs as text.`

func runSQL(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	c := newCommon("sql", ` "SELECT ..."`, sqlUsage, "", stdout)
	c.notices = stderr
	c.wide, c.flags.Lookup("wide").DefValue = true, "true" // cells are for further use
	limit := c.flags.Int("limit", 10_000, "print at most so many rows")
	file := c.flags.String("output", "", "write all rows to this new Parquet `file` instead of printing them")
	err := c.parse(args, func() error {
		switch {
		case c.flags.NArg() == 0:
			return errors.New(`want a query as the last argument: corehour sql "SELECT ..."`)
		case c.flags.NArg() > 1:
			return fmt.Errorf("want one query, in quotes and after the flags, found the further argument %q", c.flags.Arg(1))
		case *file != "" && !strings.HasSuffix(*file, ".parquet"):
			return fmt.Errorf("--output: want a name that ends in .parquet, found %q", *file)
		case *file != "" && given(c.flags, "limit", "format", "tz"):
			return errors.New("--limit, --format and --tz have no effect beside --output: all rows are written as they are")
		case *limit < 1:
			return fmt.Errorf("--limit: want 1 or more, found %d", *limit)
		case c.filter != query.Filter{} || c.noFrameworks:
			return errors.New("--service, --namespace, --environment and --no-frameworks have no effect here: filter in WHERE")
		}
		return nil
	})
	if err != nil {
		return exitFailed, err
	}
	if *file != "" {
		return exitNothing, exportTo(ctx, c, c.flags.Arg(0), *file, stderr)
	}
	w, err := c.open(ctx, c.window)
	if err != nil {
		return exitFailed, err
	}
	defer w.Close()
	stop := saysItRuns(stderr)
	table, err := w.User(ctx, c.flags.Arg(0), *limit)
	stop()
	if err != nil {
		return exitFailed, err
	}
	if table.Cut {
		fmt.Fprintf(stderr, "corehour sql: printed the first %d rows, there are more: see --limit\n", *limit)
	}
	if lines := planOf(table); lines != nil && c.out == output.Text {
		d := &output.Document{}
		d.Say(lines...)
		return exitNothing, c.write(stdout, d)
	}
	return exitNothing, c.write(stdout, sqlDocument(table, c.zone, c.out))
}

// planOf is the lines of what the engine says to EXPLAIN: a picture in one cell.
func planOf(t *query.Table) (lines []string) {
	if !slices.Equal(t.Columns, []string{"explain_key", "explain_value"}) {
		return nil
	}
	for _, row := range t.Rows {
		lines = append(lines, strings.Split(strings.TrimRight(fmt.Sprint(row[1]), "\n"), "\n")...)
	}
	return lines
}

func sqlDocument(t *query.Table, zone *time.Location, format output.Format) *output.Document {
	d := &output.Document{}
	columns := distinct(t.Columns)
	table := &output.Table{Columns: columns}
	data := make([]output.Object, len(t.Rows))
	for i, row := range t.Rows {
		cells := make([]output.Cell, len(row))
		data[i] = output.Object{Names: columns, Values: make([]any, len(row))}
		for j, v := range row {
			data[i].Values[j] = jsonValue(v, zone)
			cells[j] = cell(v, zone, format)
		}
		table.Rows = append(table.Rows, cells)
	}
	d.Data = data
	d.Add(table)
	return d
}

// distinct tells columns of the same name apart: JSON objects need it.
func distinct(names []string) []string {
	taken := map[string]bool{}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		for n := 2; taken[out[i]]; n++ {
			out[i] = fmt.Sprintf("%s_%d", name, n)
		}
		taken[out[i]] = true
	}
	return out
}
