package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

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
Only statements that read are run. --from, --to and --since choose whole UTC dates
here, because weights are made of whole dates; cut finer in WHERE. --service and
--environment do not apply: filter in WHERE. With --output all rows go to a Parquet file.`

func runSQL(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	c := newCommon("sql", ` "SELECT ..."`, sqlUsage, "", stdout)
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
		case c.filter != query.Filter{}:
			return errors.New("--service and --environment have no effect here: filter in WHERE")
		}
		return nil
	})
	if err != nil {
		return exitFailed, err
	}
	w, err := query.Open(ctx, c.warehouse, c.window, query.Tell(stderr))
	if err != nil {
		return exitFailed, err
	}
	defer w.Close()
	if *file != "" {
		return exitNothing, writeParquet(ctx, w, c.flags.Arg(0), *file, stderr)
	}
	stop := saysItRuns(stderr)
	table, err := w.User(ctx, c.flags.Arg(0), *limit)
	stop()
	if err != nil {
		return exitFailed, err
	}
	if table.Cut {
		fmt.Fprintf(stderr, "corehour sql: printed the first %d rows, there are more: see --limit\n", *limit)
	}
	return exitNothing, sqlDocument(table, c.zone).Write(stdout, c.out)
}

func sqlDocument(t *query.Table, zone *time.Location) *output.Document {
	d := &output.Document{}
	columns := distinct(t.Columns)
	table := &output.Table{Columns: columns}
	data := make([]output.Object, len(t.Rows))
	for i, row := range t.Rows {
		cells := make([]output.Cell, len(row))
		data[i] = output.Object{Names: columns, Values: make([]any, len(row))}
		for j, v := range row {
			data[i].Values[j] = jsonValue(v, zone)
			cells[j] = cell(v, zone)
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

func cell(v any, zone *time.Location) output.Cell {
	switch v := v.(type) {
	case nil:
		return output.Figure("")
	case int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return output.Figure(fmt.Sprint(v))
	case float32:
		return output.Figure(strconv.FormatFloat(float64(v), 'g', -1, 32))
	case float64:
		return output.Figure(strconv.FormatFloat(v, 'g', -1, 64))
	case *big.Int:
		return output.Figure(v.String())
	case duckdb.Decimal:
		return output.Figure(v.String())
	case string:
		return output.Name(v)
	case bool:
		return output.Name(strconv.FormatBool(v))
	case []byte:
		return output.Name(hex.EncodeToString(v))
	case time.Time:
		return output.Name(v.In(zone).Format(time.RFC3339Nano))
	default:
		line, err := output.Line(jsonValue(v, zone))
		if err != nil {
			return output.Name(fmt.Sprint(v))
		}
		return output.Name(string(line[:len(line)-1]))
	}
}

// jsonValue turns what the engine returns into what JSON can hold.
func jsonValue(v any, zone *time.Location) any {
	switch v := v.(type) {
	case []byte:
		return hex.EncodeToString(v)
	case time.Time:
		return v.In(zone).Format(time.RFC3339Nano)
	case duckdb.Decimal:
		return v.Float64()
	case float64:
		return finite(v)
	case float32:
		return finite(float64(v))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = jsonValue(v[i], zone)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = jsonValue(v[k], zone)
		}
		return out
	case nil, bool, string, *big.Int, int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return v
	default:
		return fmt.Sprint(v)
	}
}
