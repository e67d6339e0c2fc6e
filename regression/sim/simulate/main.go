// Command simulate draws deployments of which the truth is known, shows them to
// every way of judging, and prints what was counted as JSON for
// internal/figures/show.
//
//	simulate --deployments 25
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/corehour/corehour/regression/sim"
)

// seed is fixed: the tables are the same on every run.
const seed = 20260304

const methods = 1000

func main() {
	deployments := flag.Int("deployments", 25, "deployments to draw for each table")
	flag.Parse()
	if err := run(*deployments, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

func run(deployments int, out, progress io.Writer) error {
	if deployments < 1 {
		return fmt.Errorf("--deployments must be at least 1, found %d", deployments)
	}
	s := simulation{deployments: deployments, progress: progress, table: sim.Table{Name: "sim"}}
	s.naive()
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(s.table)
}

type simulation struct {
	deployments int
	progress    io.Writer
	table       sim.Table
}

// told says how far a table is, some times a minute at most.
func (s *simulation) told(what string, of int) func(int) {
	begin, last := time.Now(), time.Time{}
	return func(done int) {
		if done < of && time.Since(last) < 10*time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(s.progress, "%s: %d of %d, %.0f s\n", what, done, of, time.Since(begin).Seconds())
	}
}

// naive needs few deployments: it is wrong so often.
func (s *simulation) naive() {
	n := max(1, s.deployments/5)
	s.table.FalseAlarms(sim.Count(sim.Plan{Methods: methods, Samples: true}, seed, n, sim.Naive(), s.told("naive ways", n)), sim.None)
}
