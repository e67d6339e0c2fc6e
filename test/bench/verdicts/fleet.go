package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/sim"
)

// Goals of corehour regress on the fleet.
const (
	goalFleetSeconds   = 4
	goalFleetMegabytes = 500
)

// fleet is a large service. Nearly all of its rows are counts, one per process, method and minute. A fifth of its
// processes run the head version, for the last hour.
type fleet struct{ processes, methods, minutes int }

const (
	headShare   = 5  // one process in headShare runs the head version
	headMinutes = 60 // for this many minutes
	// Each process measures each method once in measuredEvery minutes, with measuredCalls calls.
	measuredEvery, measuredCalls = 30, 1
	changedShare                 = 50 // one method in changedShare becomes 50% more expensive
	callsAMinute                 = 600
)

var fleetBegins = time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)

// fleet stores a large service and compares its two versions.
func (b *bench) fleet(ctx context.Context, root string, f fleet) error {
	b.tell("storing a fleet of %d processes", f.processes)
	rows, err := f.store(ctx, root)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d processes, %d methods, %d minutes", f.processes, f.methods, f.minutes)
	b.lower("rows stored, "+what, float64(rows), "", sim.None)
	return b.command(ctx, goals{goalFleetSeconds, goalFleetMegabytes}, what, found,
		"regress", "--warehouse", root, "--from", day(fleetBegins), "--to", day(fleetBegins.AddDate(0, 0, 1)))
}

func (f fleet) store(ctx context.Context, root string) (rows int, err error) {
	s, err := newStore(root, fleetBegins.Add(4*time.Hour))
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := s.close(ctx); err == nil {
			rows, err = s.stored, cerr
		}
	}()
	r := rand.New(rand.NewPCG(seed, 1))
	cost := make([]float64, f.methods) // ns per call in the base version
	for m := range cost {
		cost[m] = 20_000 * math.Exp(r.NormFloat64())
	}
	resources, levels := make([]*methodspan.Resource, f.processes), make([]float64, f.processes)
	for i := range resources {
		side, start := evidence.Base, fleetBegins.Add(-24*time.Hour)
		if i%headShare == headShare-1 {
			side, start = evidence.Head, f.headStart()
		}
		resources[i] = resource(side, fmt.Sprintf("shop-7d9f-%03d", i), start)
		levels[i] = math.Exp(0.06 * r.NormFloat64())
	}
	// Rows arrive minute by minute.
	for minute := range f.minutes {
		at := fleetBegins.Add(time.Duration(minute) * time.Minute)
		for i, resource := range resources {
			if at.UnixNano() < resource.ProcessStartNS {
				continue
			}
			row := methodspan.Row{
				Resource: resource, Level: methodspan.LevelRaw, WeightBasis: methodspan.BasisExact, USDPerCoreHour: &price,
				StartNS: at.UnixNano(), EndNS: at.Add(time.Minute).UnixNano(),
			}
			lived := at.Add(time.Minute).Sub(time.Unix(0, resource.ProcessStartNS))
			if err := s.addRow(ctx, beat(row, int64(lived.Minutes())*callsAMinute*int64(f.methods))); err != nil {
				return 0, err
			}
			for m := range f.methods {
				counts := row
				counts.Kind, counts.Class, counts.Method, counts.Calls = methodspan.KindCounts, "shop/service", fmt.Sprintf("Method%d", m), callsAMinute
				if err := s.addRow(ctx, counts); err != nil {
					return 0, err
				}
				if (minute+m+i)%measuredEvery != 0 {
					continue
				}
				mean := cost[m] * levels[i] * math.Exp(0.03*r.NormFloat64())
				if resource.Version == versions[evidence.Head] && m%changedShare == 0 {
					mean *= 1.5
				}
				timed := counts
				timed.Kind, timed.Calls = methodspan.KindAggregate, 0
				measure(&timed, measuredCalls, mean)
				timed.P = measuredCalls / float64(measuredEvery*callsAMinute)
				if err := s.addRow(ctx, timed); err != nil {
					return 0, err
				}
			}
		}
	}
	return 0, nil
}

func (f fleet) headStart() time.Time {
	return fleetBegins.Add(time.Duration(max(0, f.minutes-headMinutes)) * time.Minute)
}

// beat returns a process row with the emitted calls and the cost of the probes.
func beat(row methodspan.Row, total int64) methodspan.Row {
	row.Kind = methodspan.KindProcess
	row.CPUMeasured, row.CPUNS, row.CPUState = 1, int64(30*time.Second), methodspan.CPUExact
	row.Process = &methodspan.ProcessStats{
		Cores: 2, RSSBytes: 1 << 28, CallsTotal: total,
		Stats: []methodspan.Stat{{Name: "dropped"}, {Name: "probe.cpu.cost_ns", Value: 450}, {Name: "probe.wall.cost_ns", Value: 90}},
	}
	return row
}
