package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/sqlanswer"
)

func newSQLCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   `sql [flags] "SELECT ..."`,
		Short: "Query the warehouse with SQL, read-only",
		Long: `Runs a read-only statement in the SQL of DuckDB, or of BigQuery for a warehouse there, on two views.
method_calls has the stored rows (docs/reference/schema.md); method_cost adds their weights w (CPU time)
and w_wall (wall time, errors), and cost_usd. Estimate sums with weights, SUM(w * cpu_ns), and count
calls with SUM(calls). Time flags select rows by start_ns. --service and --environment do not apply:
use WHERE. --output writes all rows to a Parquet file.`,
		Example: `  corehour sql "SELECT method, SUM(w * cpu_ns) / 1e9 AS cpu_s FROM method_cost GROUP BY ALL ORDER BY 2 DESC"
  corehour sql --since 24h --format csv "SELECT * FROM method_calls LIMIT 10"
  corehour sql --output rows.parquet "FROM method_calls"`,
		Annotations: exits("0 printed or written\n2 failed: a query that cannot run\n3 no rows in that time"),
	}
	c := newCommon(cmd, "")
	c.wide, c.flags.Lookup("wide").DefValue = true, "true" // cells are meant for further use
	limit := c.flags.Int("limit", 10_000, "print at most so many rows")
	file := c.flags.String("output", "", "write all rows to this new Parquet `file` instead of printing them")
	groupFlags(c.flags, outputFlags, "limit", "output")
	return withWork(cmd, func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		c.notices = stderr
		if err := c.checkFlags(func() error { return c.checkQuery(*file, *limit) }); err != nil {
			return exitFailed, err
		}
		if *file != "" {
			return exitNothing, exportTo(ctx, c, c.flags.Arg(0), *file, stderr)
		}
		return exitNothing, c.printRows(ctx, *limit, stdout, stderr)
	})
}

func (c *common) checkQuery(file string, limit int) error {
	switch {
	case c.flags.NArg() == 0:
		return errors.New(`want a query as the last argument: corehour sql "SELECT ..."`)
	case c.flags.NArg() > 1:
		return fmt.Errorf("want one query, in quotes, found the further argument %q", c.flags.Arg(1))
	case file != "" && !strings.HasSuffix(file, ".parquet"):
		return fmt.Errorf("--output: want a name that ends in .parquet, found %q", file)
	case file != "" && given(c.flags, "limit", "format", "tz"):
		return errors.New("--limit, --format and --tz have no effect with --output: all rows are written as they are")
	case limit < 1:
		return fmt.Errorf("--limit: want 1 or more, found %d", limit)
	case c.filter != query.Filter{} || c.noFrameworks:
		return errors.New("--service, --namespace, --environment and --no-frameworks have no effect on SQL: filter in WHERE")
	}
	return nil
}

func (c *common) printRows(ctx context.Context, limit int, stdout, stderr io.Writer) error {
	w, err := c.open(ctx, c.window)
	if err != nil {
		return err
	}
	defer w.Close()
	stop := reportProgress(stderr)
	table, err := w.User(ctx, c.flags.Arg(0), limit)
	stop()
	if err != nil {
		return err
	}
	if table.Cut {
		fmt.Fprintf(stderr, "corehour sql: printed the first %d rows, there are more: see --limit\n", limit)
	}
	return c.write(stdout, sqlanswer.Document(table, c.zone, c.out))
}
