// Command verdicts measures the time and memory of verdicts. The inputs are a deployment of 1,000 methods on
// 40 instances (56 processes: 16 are replaced) over 90 minutes, a year of rollups of 2,000 methods, and a
// fleet of 250 processes with 400 methods, with mostly counts rows. The collector's writer stores them all, and the
// command `corehour` runs on them as for users.
//
//	verdicts --corehour bin/corehour | show --out build/bench
//
// The goals are for the evaluation without the query, and for the fleet for the whole command. Progress is
// printed on stderr.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/test/sim"
)

// seed is fixed, so that every run stores the same data.
const seed = 20260304

// size is the size of the drawn data.
type size struct {
	methods, days, yearMethods int
	fleet                      fleet
}

var full = size{methods: 1000, days: 365, yearMethods: 2000, fleet: fleet{processes: 250, methods: 400, minutes: 90}}

func main() {
	corehour := flag.String("corehour", "", "the built `command`")
	dir := flag.String("dir", "", "directory to work in (default: a temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	table, err := runBenchmark(ctx, *corehour, *dir, full)
	stop()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(table)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "verdicts:", err)
		os.Exit(1)
	}
}

func runBenchmark(ctx context.Context, corehour, dir string, s size) (*sim.Table, error) {
	if corehour == "" {
		return nil, errors.New("--corehour is missing: name the built command, as bin/corehour")
	}
	temporary, err := os.MkdirTemp(dir, "verdicts-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	b := &bench{corehour: corehour, table: &sim.Table{Name: "verdicts"}, begin: time.Now()}
	if err := b.deployment(ctx, filepath.Join(temporary, "deployment"), s); err != nil {
		return nil, err
	}
	if err := b.year(ctx, filepath.Join(temporary, "year"), s); err != nil {
		return nil, err
	}
	if err := b.fleet(ctx, filepath.Join(temporary, "fleet"), s.fleet); err != nil {
		return nil, err
	}
	return b.table, nil
}

type bench struct {
	corehour string
	table    *sim.Table
	begin    time.Time
}

// tell prints the next step and the elapsed time.
func (b *bench) tell(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%4.0f s  %s\n", time.Since(b.begin).Seconds(), fmt.Sprintf(format, args...))
}

// lower adds a figure for which lower is better.
func (b *bench) lower(name string, value float64, unit string, goal float64) {
	b.table.Lower(name, value, unit, goal)
	b.tell("%s: %.4g %s", name, value, unit)
}
