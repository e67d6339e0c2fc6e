//go:build linux

// Command rollout judges `corehour regress` by deployments of Go servers that it did not write: two versions of a
// server from the module proxy run side by side under load, each built by `corehour go build`, next to a collector with
// the shipped configuration. One function of the newer version has additional work, or none at all.
//
// `corehour regress` runs every minute, as --every does. It must name that function, and nothing else. The truth is the
// runtime's CPU profile of all processes.
//
// With --strict it fails where another method was raised, or where the function was reported cheaper.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/integration/harness"
	"github.com/corehour/corehour/test/figures"
)

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "../bin", "directory of corehour and corehour-collector")
	flag.StringVar(&o.out, "out", "../build/bench", "directory for the figures")
	flag.StringVar(&o.config, "config", "../config/collector.yaml", "the collector's configuration")
	flag.StringVar(&o.keep, "keep", "", "directory that keeps the warehouse, logs and reports of each run (default: a temporary one)")
	flag.DurationVar(&o.duration, "duration", 15*time.Minute, "how long both versions run, in whole minutes")
	flag.BoolVar(&o.strict, "strict", false, "fail if another method is raised or the change has the wrong sign")
	names := flag.String("servers", strings.Join(slices.Sorted(maps.Keys(servers)), ","), "`names` of servers")
	processes := flag.String("processes", "1,3", "`numbers` of processes of each version")
	changes := flag.String("change", "0,25,50,100", "additional cost of the planted function in `percent` of its own")
	flag.Parse()
	o.servers = strings.Split(*names, ",")
	var faults [2]error
	o.processes, faults[0] = numbers("processes", *processes)
	o.changes, faults[1] = numbers("change", *changes)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := errors.Join(faults[:]...)
	if err == nil {
		err = o.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rollout:", err)
		os.Exit(1)
	}
}

type options struct {
	bin, out, config, keep string
	duration               time.Duration
	strict                 bool
	servers                []string
	processes, changes     []int
}

func numbers(flag, list string) (all []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("--%s: want numbers with commas, found %q", flag, list)
		}
		all = append(all, n)
	}
	return all, nil
}

func (o *options) run(ctx context.Context) (err error) {
	for _, name := range o.servers {
		if _, known := servers[name]; !known {
			return fmt.Errorf("--servers: want some of %s, found %q", strings.Join(slices.Sorted(maps.Keys(servers)), ", "), name)
		}
	}
	if o.duration < time.Minute || o.duration%time.Minute != 0 || slices.Contains(o.processes, 0) {
		return fmt.Errorf("--duration: want whole minutes, found %s; --processes: want at least 1, found %v", o.duration, o.processes)
	}
	if o.keep == "" {
		if o.keep, err = os.MkdirTemp("", "corehour-rollout-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.keep)
	}
	for _, path := range []*string{&o.bin, &o.config, &o.keep} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	var results []*result
	for _, name := range o.servers {
		b := build{command: filepath.Join(o.bin, harness.CommandBinary), server: servers[name], dir: filepath.Join(o.keep, name)}
		binaries, err := b.versions(ctx, o.changes)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, n := range o.processes {
			for _, change := range o.changes {
				r := &rollout{
					options: o, name: name, server: servers[name], processes: n, change: change,
					dir: filepath.Join(o.keep, name, fmt.Sprintf("%d+%d-%d%%-%s", n, n, change, time.Now().UTC().Format("0102T150405"))), base: binaries[0], head: binaries[change],
				}
				fmt.Fprintf(os.Stderr, "%s, %d+%d processes, %+d%%: %s, %s\n", name, n, n, change, o.duration, r.dir)
				result, err := r.run(ctx)
				if err != nil {
					return fmt.Errorf("%s, %d+%d processes, %+d%%: %w", name, n, n, change, err)
				}
				result.print(os.Stdout)
				results = append(results, result)
			}
		}
	}
	return o.report(results)
}

// report writes the results of all runs, and the figures with the goals.
func (o *options) report(results []*result) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	figured := figures.New("rollout")
	var faults []string
	for _, r := range results {
		r.addFigures(figured)
		faults = append(faults, r.faults()...)
	}
	err = errors.Join(os.MkdirAll(o.out, 0o755), os.WriteFile(filepath.Join(o.out, "rollout-runs.json"), text, 0o600),
		figured.Print(os.Stdout), figured.Write(o.out))
	if err == nil && o.strict && len(faults) > 0 {
		return errors.New(strings.Join(faults, "\n  "))
	}
	return err
}
