package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/sim"
)

// versions are indexed by side.
var versions = [2]string{evidence.Base: "1.0.0", evidence.Head: "1.1.0"}

// goalJudge is the goal for one evaluation of the whole deployment, in seconds.
const goalJudge = 2

// deployment draws a deployment in which 2% of the methods become 50% more expensive, stores it and evaluates it.
func (b *bench) deployment(ctx context.Context, root string, s size) error {
	b.tell("drawing a deployment of %d methods", s.methods)
	d := sim.Draw(sim.Plan{Methods: s.methods, Changed: 0.02, Effects: []float64{0.5}}, seed, 0, nil)
	b.tell("storing it: %d sums, and counts of every minute", len(d.Cells))
	rows, err := storeDeployment(ctx, root, d)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d methods, %d processes, %d minutes", s.methods, len(d.Instances), int((time.Duration(d.Buckets) * d.Bucket).Minutes()))
	b.lower("rows stored, "+what, float64(rows), "", sim.None)
	b.tell("asking for its cells")
	seconds, cells, err := queryDeployment(ctx, root)
	if err != nil {
		return err
	}
	b.lower(fmt.Sprintf("query of the cells, %d of them", cells), seconds, "s", sim.None)
	b.tell("judging it")
	if seconds, err = sim.JudgeSeconds(d); err != nil {
		return err
	}
	b.lower(fmt.Sprintf("one look at %s, after the query", what), seconds, "s", goalJudge)
	return b.command(ctx, goals{}, "it", found, "regress", "--warehouse", root, "--from", day(d.Begin), "--to", day(d.Begin.AddDate(0, 0, 1)))
}

func day(t time.Time) string { return t.Format(time.DateOnly) }

var price = 0.04 // USD per core-hour

func resource(side evidence.Side, instance string, start time.Time) *methodspan.Resource {
	return &methodspan.Resource{
		ServiceNamespace: "store", Service: "shop", Environment: "production",
		Version: versions[side], Instance: instance, ProcessStartNS: start.UnixNano(),
	}
}

// storeDeployment stores the cells as aggregate rows, with counts for every minute.
func storeDeployment(ctx context.Context, root string, d *sim.Deployment) (rows int, err error) {
	s, err := newStore(root, d.Begin.Add(4*time.Hour))
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := s.close(ctx); err == nil {
			rows, err = s.stored, cerr
		}
	}()
	resources := make([]*methodspan.Resource, len(d.Instances))
	for i, in := range d.Instances {
		start := in.Started
		if start.IsZero() {
			start = d.Begin.Add(-24 * time.Hour)
		}
		resources[i] = resource(in.Side, fmt.Sprintf("shop-7d9f-%02d", i), start)
	}
	// The cells of one method, instance and bucket are adjacent, one per caller.
	for i := 0; i < len(d.Cells); {
		c := d.Cells[i]
		f := methodspan.ParseFunction(d.Methods[c.Method])
		row := methodspan.Row{Resource: resources[c.Instance], Level: methodspan.LevelRaw, Class: f.Class, Method: f.Method, USDPerCoreHour: &price}
		start := d.Begin.Add(time.Duration(c.Bucket) * d.Bucket)
		calls := 0.0
		for ; i < len(d.Cells) && d.Cells[i].Method == c.Method && d.Cells[i].Instance == c.Instance && d.Cells[i].Bucket == c.Bucket; i++ {
			cell := d.Cells[i]
			r := row
			r.Kind, r.Caller = methodspan.KindAggregate, "shop/caller."+d.Callers[cell.Caller]
			r.StartNS, r.EndNS = start.UnixNano(), start.Add(d.Bucket).UnixNano()
			measure(&r, cell.Records, cell.Sum/cell.Records)
			calls += float64(r.Measured)
			if err := s.addRow(ctx, r); err != nil {
				return 0, err
			}
		}
		minutes := int(d.Bucket / time.Minute)
		for m := range minutes {
			r := row
			at := start.Add(time.Duration(m) * time.Minute)
			r.Kind, r.WeightBasis, r.Calls = methodspan.KindCounts, methodspan.BasisExact, calls/float64(minutes)
			r.StartNS, r.EndNS = at.UnixNano(), at.Add(time.Minute).UnixNano()
			if err := s.addRow(ctx, r); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

// queryDeployment queries the cells as the command does.
func queryDeployment(ctx context.Context, root string) (seconds float64, cells int, err error) {
	begin := time.Now()
	w, err := query.Open(ctx, root, query.Window{})
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		if cerr := w.Close(); err == nil {
			err = cerr
		}
	}()
	runs, err := w.Runs(ctx, query.Window{}, query.Filter{})
	if err != nil {
		return 0, 0, err
	}
	chosen, _, err := pairs.Choose(runs, "", "")
	if err != nil {
		return 0, 0, err
	}
	if len(chosen) != 1 {
		return 0, 0, errors.New("the stored deployment has no two versions")
	}
	p := chosen[0]
	side := func(side query.Side, d pairs.Deployment) query.Compared {
		return query.Compared{Service: p.Service, Side: side, Version: d.Version, Window: query.Window{From: d.First, To: d.Last}, TimeBucket: 5 * time.Minute}
	}
	base, head := side(query.SideBase, p.Base), side(query.SideHead, p.Head)
	processes, err := w.Processes(ctx, base, head)
	if err != nil {
		return 0, 0, err
	}
	members := make([]query.Member, len(processes))
	for i, process := range processes {
		members[i] = query.Member{Process: process, Member: i}
	}
	list, err := w.Cells(ctx, query.CPU, base, head, members, query.Grid{Begin: p.Head.First, TimeBucket: 5 * time.Minute})
	return time.Since(begin).Seconds(), len(list), err
}
