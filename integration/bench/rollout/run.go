//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// rollout is one run: two versions of a server with some processes each.
type rollout struct {
	*options
	name       string
	server     server
	processes  int
	change     int
	dir        string
	base, head string // binaries
	collector  *harness.Collector
}

func (r *rollout) run(ctx context.Context) (_ *result, err error) {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return nil, err
	}
	if r.collector, err = harness.NewCollector(filepath.Join(r.bin, harness.CollectorBinary), r.dir, "", ""); err != nil {
		return nil, err
	}
	if err := r.collector.UseConfig(r.config); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.collector.Close()) }()
	if err := r.collector.Start(ctx); err != nil {
		return nil, err
	}
	var all []*process
	defer func() {
		for _, p := range all {
			p.client.close()
			err = errors.Join(err, p.Kill())
		}
	}()
	for _, version := range []string{base, head} {
		for n := range r.processes {
			p, err := r.start(ctx, map[string]string{base: r.base, head: r.head}[version], version, n)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	minutes, err := r.observe(ctx, all)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		_ = p.Stop(stopPatience) // the exit code after a signal is the server's choice
	}
	if err := r.collector.Stop(); err != nil {
		return nil, err
	}
	return r.judge(ctx, all, minutes)
}

// observe keeps all processes under load and returns the report of regress after each minute.
func (r *rollout) observe(ctx context.Context, all []*process) ([]harness.Findings, error) {
	begin := time.Now()
	loads, end := context.WithCancel(ctx)
	defer end()
	var running sync.WaitGroup
	profiles := make([]error, len(all))
	for i, p := range all {
		running.Go(func() { p.load(loads, r.server.rate/spread(r.processes)) })
		running.Go(func() { profiles[i] = p.takeProfiles(ctx, r.server.profile(p), begin.Add(r.duration)) })
	}
	command := r.command()
	var minutes []harness.Findings
	for minute := 1; minute <= int(r.duration/time.Minute); minute++ {
		select {
		case <-time.After(time.Until(begin.Add(time.Duration(minute) * time.Minute))):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		findings, err := command.Regress(ctx, "--service", r.name, "--all")
		if err != nil {
			return nil, err
		}
		minutes = append(minutes, findings)
		if err := os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("minute-%02d.json", minute)), findings.Output.Stdout, 0o600); err != nil {
			return nil, err
		}
	}
	end()
	running.Wait()
	return minutes, errors.Join(profiles...)
}

// spread is the share of the load that each of n processes does not get: more processes share the same cores.
func spread(n int) float64 { return 1 + 0.8*float64(n-1) }

func (r *rollout) command() harness.Command {
	return harness.Command{Binary: filepath.Join(r.bin, harness.CommandBinary), Warehouse: r.collector.Warehouse}
}

func (r *rollout) save(result *result) error {
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, "result.json"), text, 0o600)
}
