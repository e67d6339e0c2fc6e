// Command simulate draws deployments with a known truth, evaluates them with all detection methods and prints the
// counts as JSON for test/figures/show.
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

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/sim"
)

// seed is fixed, so that every run prints the same tables.
const seed = 20260304

const methods = 1000

func main() {
	deployments := flag.Int("deployments", 25, "deployments to draw for each table")
	only := flag.String("only", "", "draw only this table: naive, pipeline, families, ended, apart, drift, daily, weekdays, coverage, gate or speed")
	of := flag.Uint64("seed", seed, "of the tables drift, daily and weekdays")
	flag.Parse()
	if err := simulate(*deployments, *only, *of, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

func simulate(deployments int, only string, of uint64, out, progress io.Writer) error {
	if deployments < 1 {
		return fmt.Errorf("--deployments must be at least 1, found %d", deployments)
	}
	s := simulation{deployments: deployments, seed: of, progress: progress, table: sim.Table{Name: "sim"}}
	parts := []struct {
		name string
		draw func() error
	}{
		{"naive", s.naive}, {"pipeline", s.pipeline}, {"families", s.families}, {"ended", s.ended}, {"apart", s.separateRuns},
		{"drift", s.drift}, {"daily", s.daily}, {"weekdays", s.weekdays}, {"coverage", s.coverage}, {"gate", s.gate}, {"speed", s.speed},
	}
	drawn := false
	for _, part := range parts {
		if only != "" && only != part.name {
			continue
		}
		drawn = true
		if err := part.draw(); err != nil {
			return err
		}
	}
	if !drawn {
		return fmt.Errorf("--only: want the name of a table, found %q", only)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(s.table)
}

type simulation struct {
	deployments int
	seed        uint64
	progress    io.Writer
	table       sim.Table
}

// told returns a function that prints the progress of a table, at most a few times a minute.
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

// naive counts the false alarms of the naive methods. They have so many that few deployments suffice.
func (s *simulation) naive() error {
	n := max(1, s.deployments/5)
	s.table.FalseAlarms(sim.Count(sim.Plan{Methods: methods, Samples: true}, seed, n, sim.Naive(), s.told("naive ways", n)), sim.None)
	return nil
}

// effects are the effects of the changed methods, as shares.
var effects = []float64{0.02, 0.05, 0.10, 0.50}

// pipeline counts false alarms in deployments without changes, and found changes in deployments with a tenth of the
// methods changed.
func (s *simulation) pipeline() error {
	null := sim.Plan{Methods: methods}
	kind := sim.Pipeline(evidence.Defaults())
	n := s.deployments
	s.table.FalseAlarms(sim.Count(null, seed+1, n, []sim.Kind{kind}, s.told("nothing changed", n)), 0.3)

	changed := sim.Plan{Methods: methods, Changed: 0.1, Effects: effects}
	scores := sim.Count(changed, seed+2, n, []sim.Kind{kind}, s.told("a tenth changed", n))
	s.table.FalseAlarms([]sim.Score{{Name: "pipeline, with changed methods", False: scores[0].False, Unchanged: scores[0].Unchanged}}, 0.3)
	s.table.Powers(scores[0], effects)

	uniform := max(1, n/5)
	found, also := sim.ServiceFound(sim.Plan{Methods: methods, Uniform: 0.2}, seed+3, uniform, s.told("all methods 20% more expensive", uniform))
	s.table.Higher("whole service +20%, found", share(found, uniform), "% of deployments", sim.None)
	s.table.Lower("whole service +20%, methods raised in addition", share(also, uniform), "% of deployments", sim.None)
	return nil
}

func share(n, of int) float64 { return 100 * float64(n) / float64(of) }
