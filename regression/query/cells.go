package query

import (
	"context"
	"database/sql"
	"slices"
	"time"
)

// Process is one process of a side of a comparison.
type Process struct {
	Side     Side
	Instance string
	HostID   string // empty = unknown
	// Start is the start of the process, or zero if unknown.
	Start       time.Time
	First, Last time.Time // of its measurements
	// Measured is the number of measured calls, CPUMeasured the number of calls with CPU time.
	Measured, CPUMeasured int64
}

// Records returns the number of measured calls with a value of the metric.
func (p *Process) Records(m Metric) int64 {
	if m == CPU {
		return p.CPUMeasured
	}
	return p.Measured
}

// Member assigns a process to the cells of one member number.
type Member struct {
	Process
	Member int
	// Warm is the end of the warm-up: earlier rows do not count.
	Warm time.Time
}

// Cell contains the sums for one method, caller, member and time bucket.
type Cell struct {
	Full       string // class.method
	Caller     string // empty = unknown
	Member     int
	TimeBucket int64

	Class, Method, Signature string

	Records float64 // measured calls
	Weight  float64 // calls they stand for
	Sum     float64 // ns
	Waits   float64 // number of times the calls gave up the processor; for the metric CPU only
	Capped  float64 // ns, each call capped at the 99.5% quantile
	Log     float64
	// Over is the number of records above that quantile, OverWeight the number of calls that they
	// stand for. Near and Far count records above a quarter and above 4 times the quantile.
	Near, NearWeight, Over, OverWeight, Far, FarWeight float64
	// Calls is the number of calls that all timed calls stand for, with or without a value of the metric.
	Calls float64
	// TimedWall and TimedCPU are the numbers of calls timed without and with their CPU. Each of these calls
	// added the cost of a probe to the caller.
	TimedWall, TimedCPU float64
}

// Processes lists the processes of both sides of one comparison.
func (w *Warehouse) Processes(ctx context.Context, base, head Compared) ([]Process, error) {
	if err := w.fillCompared(ctx, []Compared{base, head}); err != nil {
		return nil, err
	}
	var out []Process
	err := w.queryRows(ctx, "members", scope{Of: &base.Service}, serviceArgs(base.Service), func(rows *sql.Rows) error {
		var p Process
		var start, first, last int64
		err := rows.Scan(&p.Side, nullable(&p.Instance), nullable(&start), nullable(&p.HostID), &first, &last, &p.Measured, &p.CPUMeasured)
		if start != 0 {
			p.Start = timeOf(start)
		}
		p.First, p.Last = timeOf(first), timeOf(last)
		out = append(out, p)
		return err
	})
	return out, err
}

// Grid defines the time buckets of a comparison.
type Grid struct {
	Begin      time.Time
	TimeBucket time.Duration
	// Daily assigns the base's rows to the buckets of the same time of day.
	Daily bool
	// ByAge assigns rows to buckets by the age of their process; bucket 0 is the first of its life.
	// Members must have a Start.
	ByAge bool
}

// Cells returns the sums of both sides of one comparison, sorted by method.
func (w *Warehouse) Cells(ctx context.Context, metric Metric, base, head Compared, members []Member, grid Grid) ([]Cell, error) {
	if err := w.fillCompared(ctx, []Compared{base, head}); err != nil {
		return nil, err
	}
	g := smallTable{columns: append(textColumns("side", "instance"), longColumns("process_start_ns", "member", "warm_ns")...)}
	for _, m := range members {
		var start any
		if !m.Start.IsZero() {
			start = nanos(m.Start)
		}
		warm := int64(0)
		if !m.Warm.IsZero() {
			warm = nanos(m.Warm)
		}
		g.rows = append(g.rows, []any{string(m.Side), orNull(m.Instance), start, int64(m.Member), warm})
	}
	if err := w.fillTable(ctx, "members", g); err != nil {
		return nil, err
	}
	args := serviceArgs(base.Service)
	args["base_version"], args["head_version"] = base.Version, head.Version
	args["begin_ns"], args["slot_ns"], args["daily"], args["by_age"] = nanos(grid.Begin), grid.TimeBucket.Nanoseconds(), 0, 0
	if grid.Daily {
		args["daily"] = 1
	}
	if grid.ByAge {
		args["by_age"] = 1
	}
	d, err := w.weightsDialect(ctx)
	if err != nil {
		return nil, err
	}
	s := scope{dialect: d, metricColumns: columnsOf[metric], Of: &base.Service}
	var out []Cell
	var c, names Cell // the scanned cell, and the names of its method
	var method, what int64
	columns := []any{&method, &what, &c.Caller, &c.Member, &c.TimeBucket, nullable(&c.Full), nullable(&c.Class), nullable(&c.Method), nullable(&c.Signature),
		&c.Records, &c.Weight, &c.Sum, &c.Waits, &c.Capped, &c.Log,
		&c.Near, &c.NearWeight, &c.Over, &c.OverWeight, &c.Far, &c.FarWeight, &c.Calls, &c.TimedWall, &c.TimedCPU}
	err = w.queryRows(ctx, "cells", s, args, func(rows *sql.Rows) error {
		if err := rows.Scan(columns...); err != nil {
			return err
		}
		if what == 0 {
			names = c
			return nil
		}
		c.Full, c.Class, c.Method = names.Full, names.Class, names.Method
		if n := len(out); n > 0 { // consecutive cells often have the same caller
			share(&c.Caller, out[n-1].Caller)
			share(&c.Signature, out[n-1].Signature)
		}
		if len(out) == cap(out) { // with some 100,000 cells append would copy them a dozen times
			out = slices.Grow(out, max(1024, len(out)))
		}
		out = append(out, c)
		return nil
	})
	boundRecords(out, members)
	return out, err
}

// share makes equal strings use the same memory.
func share(s *string, other string) {
	if *s == other {
		*s = other
	}
}

// serviceArgs returns the parameters that Only uses for a service; unknown parts have no parameter.
func serviceArgs(s Service) map[string]any {
	args := map[string]any{}
	for column, value := range map[string]string{"service_namespace": s.Namespace, "service": s.Name, "environment": s.Environment} {
		if value != "" {
			args[column] = value
		}
	}
	return args
}
