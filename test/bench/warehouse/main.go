// Command warehouse measures the warehouse: writing with sort and fsync, bytes by column, merging, rollup,
// and queries of raw rows and of rollups.
//
//	warehouse --rows 2000000 | show --out build/bench
//
// Rates are per CPU second of this process. Query times are wall seconds and CPU seconds, with one engine thread per
// core. The goals for queries are for 100 million rows and are checked only from that number on. More than
// half a million rows are spread over several dates, at most ten. It needs disk space for four times the rows,
// at about 60 bytes each.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/test/bench/results"
)

func main() {
	rows := flag.Int("rows", 2_000_000, "rows to measure with")
	dir := flag.String("dir", "", "directory to work in (default: a temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := runBenchmark(ctx, *rows, *dir)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "warehouse:", err)
		os.Exit(1)
	}
}

func runBenchmark(ctx context.Context, rows int, dir string) error {
	if rows < batchRows {
		return fmt.Errorf("--rows must be at least %d, found %d", batchRows, rows)
	}
	temporary, err := os.MkdirTemp(dir, "warehouse-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	t := &figures{Name: "warehouse"}
	for _, ids := range []bool{false, true} {
		b := &bench{figures: t, root: fmt.Sprintf("%s/ids-%v", temporary, ids), rows: rows, ids: ids, verified: parquet.NewVerifiedFiles("")}
		if err := b.write(ctx); err != nil {
			return err
		}
		if !ids { // the later steps use rows with IDs, the more expensive kind
			if err := os.RemoveAll(b.root); err != nil {
				return err
			}
			continue
		}
		for _, do := range []func(context.Context) error{b.columns, b.merge, b.askRaw, b.roll} {
			if err := do(ctx); err != nil {
				return err
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(t)
}

// figures is the printed table.
type figures results.Table

// addFigure adds a figure. A goal of 0 means no goal.
func (t *figures) addFigure(name string, value float64, unit, better string, goal float64) {
	f := results.Figure{Name: name, Value: value, Unit: unit, Better: better}
	if goal != 0 {
		f.Goal = &goal
	}
	t.Results = append(t.Results, f)
	fmt.Fprintf(os.Stderr, "%s: %.4g %s\n", name, value, unit)
}
