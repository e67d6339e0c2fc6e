// Command verdicts measures how long verdicts take and what memory they need:
// on a deployment of 1,000 methods on 40 instances (56 processes: 16 are replaced) over
// 90 minutes, on a year of sums of 2,000 methods, and on a fleet of 250 processes with
// 400 methods, whose rows are counts for the most part. All are stored by the collector's
// writer; the command `corehour` is run on them as users run it.
//
//	verdicts --corehour bin/corehour | show --out build/bench
//
// The goals are those for judging, after the query, and of the fleet for the whole
// command. It says on stderr what it does.
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

// seed is fixed: what is stored is the same on every run.
const seed = 20260304

// size is what is drawn.
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

// tell says what is done next, and for how long the bench has run.
func (b *bench) tell(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%4.0f s  %s\n", time.Since(b.begin).Seconds(), fmt.Sprintf(format, args...))
}

// lower notes a figure that should be small.
func (b *bench) lower(name string, value float64, unit string, goal float64) {
	b.table.Lower(name, value, unit, goal)
	b.tell("%s: %.4g %s", name, value, unit)
}
