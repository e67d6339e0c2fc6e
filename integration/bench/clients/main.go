// Command clients runs stock OpenTelemetry clients of several languages and samplers against the
// real collector, and compares corehour's figures with the clients' own counts.
//
//	clients --bin ../bin --out ../build/bench --families go,node,python
//
// Each cell of the matrix (cells.go) is a client with a sampler that keeps a quarter of the traces.
// It runs as two versions at the same time, three processes each. In the second version one method
// takes twice as long. Calls must be within four standard errors of the client's own counters, rows
// must have the basis of their probability, and `corehour regress` must raise that method and
// nothing else. Then it sends a million traces a minute and reads the size of the receiver's table
// of traces. It fails where one of these does not hold, and where a cell could not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/corehour/corehour/integration/harness"
	"github.com/corehour/corehour/test/figures"
)

// assumedGoal is the largest share of all calls, in percent, whose sampling can be unknown.
const assumedGoal = 5

func main() {
	bin := flag.String("bin", "../bin", "directory of corehour and corehour-collector")
	out := flag.String("out", "../build/bench", "directory for the figures")
	families := flag.String("families", "go,node,python,java", "families of clients to run")
	duration := flag.Duration("duration", 12*time.Second, "how long the clients of a cell run")
	parallel := flag.Int("parallel", 2, "cells that run at the same time")
	keep := flag.String("keep", "", "directory for logs and warehouses, which stay (default: a temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runBenchmark(ctx, *bin, *out, strings.Split(*families, ","), *duration, *parallel, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

// outcome is the result of a cell.
type outcome struct {
	scores []score
	err    error // why it did not run
}

func runBenchmark(ctx context.Context, bin, out string, families []string, duration time.Duration, parallel int, dir string) error {
	if duration < 5*time.Second || parallel < 1 {
		return fmt.Errorf("--duration must be at least 5s and --parallel at least 1, found %s and %d", duration, parallel)
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "corehour-clients-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	clients, faults := prepare(dir, families)
	var chosen []matrixCell
	for _, c := range matrix(clients) {
		if slices.Contains(families, c.family) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("--families names none of go, node, python and java, found %q", families)
	}

	outcomes := make([]outcome, len(chosen))
	room := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i, c := range chosen {
		if outcomes[i].err = faults[c.family]; outcomes[i].err != nil {
			continue
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			begin := time.Now()
			s := stage{matrixCell: c, bin: bin, dir: filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-")), duration: duration}
			outcomes[i].scores, outcomes[i].err = s.play(ctx)
			fmt.Fprintf(os.Stderr, "%s: %.0f s\n", c.name, time.Since(begin).Seconds())
		})
	}
	wg.Wait()
	table, err := fillTraces(ctx, bin, filepath.Join(dir, "traces"))
	if err != nil {
		return err
	}
	return report(out, chosen, outcomes, table)
}

// report prints and writes the figures. If one misses its goal, it returns an error with the
// reasons.
func report(out string, cells []matrixCell, outcomes []outcome, table *traceTable) error {
	r := figures.New("clients")
	var calls, assumed float64
	failed := 0
	var wrong []error
	for i, o := range outcomes {
		if o.err != nil {
			failed++
			wrong = append(wrong, fmt.Errorf("%s was not run: %w", cells[i].name, o.err))
		}
		for _, s := range o.scores {
			s.addFigures(r)
			calls, assumed = calls+s.allCalls, assumed+s.assumedCalls
			for _, line := range s.wrong {
				wrong = append(wrong, fmt.Errorf("%s, %s: %s", cells[i].name, s.service, line))
			}
		}
	}
	r.Add("calls of which nothing says how they were sampled", 100*assumed/max(calls, 1), "%", figures.Lower, figures.Goal(assumedGoal))
	r.Add("cells that were not run", float64(failed), "of "+fmt.Sprint(len(cells)), figures.Lower, figures.Goal(0))
	table.addFigures(r)
	return errors.Join(r.Print(os.Stdout), r.Write(out), errors.Join(wrong...), r.Missed())
}

// clients are the programs of the matrix.
type clients struct {
	gotel, telemetrygen string
	node, nodeClient    string
	python, pyClient    string // the directory of Python's programs, and the client
	jars, classes       string
}

// prepare builds and installs the clients of some families. faults holds the reasons why some
// cannot run.
func prepare(dir string, families []string) (c clients, faults map[string]error) {
	faults = map[string]error{}
	root, err := filepath.Abs("clients")
	if err != nil {
		return c, map[string]error{"go": err, "node": err, "python": err, "java": err}
	}
	for family, install := range map[string]func() error{
		"go": func() (err error) {
			if c.gotel, err = harness.GoBuild(".", "./clients/gotel", dir); err != nil {
				return err
			}
			c.telemetrygen, err = harness.GoBuild("clients/telemetrygen", "github.com/open-telemetry/opentelemetry-collector-contrib/cmd/telemetrygen", dir)
			return err
		},
		"node": func() (err error) {
			c.nodeClient = filepath.Join(root, "node", "client.js")
			c.node, err = harness.InstallNode(filepath.Join(root, "node"))
			return err
		},
		"python": func() (err error) {
			c.pyClient = filepath.Join(root, "python", "client.py")
			c.python, err = harness.InstallPython(filepath.Join(root, "python"))
			return err
		},
		"java": func() (err error) {
			if c.jars, err = harness.InstallJars(filepath.Join(root, "java")); err != nil {
				return err
			}
			c.classes, err = harness.Javac(filepath.Join(root, "java", "Client.java"), filepath.Join(dir, "classes"))
			return err
		},
	} {
		if slices.Contains(families, family) {
			faults[family] = install()
		}
	}
	return c, faults
}
