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
	// Start is when it began, zero where it is not known.
	Start       time.Time
	First, Last time.Time // of its measurements
	// Measured calls, and those of them whose CPU was timed.
	Measured, CPUMeasured int64
}

// Records are the measured calls that tell something of a metric.
func (p *Process) Records(m Metric) int64 {
	if m == CPU {
		return p.CPUMeasured
	}
	return p.Measured
}

// Member says which sums a process goes into.
type Member struct {
	Process
	Member int
	// Warm is the time from which its rows count.
	Warm time.Time
}

// Cell is the sums over one method, caller, member and bucket.
type Cell struct {
	Full       string // class.method
	Caller     string // empty = unknown
	Member     int
	TimeBucket int64

	Class, Method, Signature string

	Records float64 // measured calls
	Weight  float64 // calls they stand for
	Sum     float64 // ns
	Waits   float64 // how often the calls gave up the processor, of the metric CPU
	Capped  float64 // ns, each call at most the 99.5% quantile
	Log     float64
	// Over is the number of records above that quantile, OverWeight the calls that they
	// stand for; Near and Far count those above a quarter and 4 times the quantile.
	Near, NearWeight, Over, OverWeight, Far, FarWeight float64
	// Calls are those that all timed calls stand for, whatever was measured of them.
	Calls float64
	// Calls that were timed, without and with their CPU: each is a probe that the
	// caller paid for.
	TimedWall, TimedCPU float64
}

// Processes lists the processes of both sides of one comparison.
func (w *Warehouse) Processes(ctx context.Context, base, head Compared) ([]Process, error) {
	if err := w.prepare(ctx, []Compared{base, head}); err != nil {
		return nil, err
	}
	var out []Process
	err := w.each(ctx, "members", scope{Of: &base.Service}, serviceArgs(base.Service), func(rows *sql.Rows) error {
		var p Process
		var start, first, last int64
		err := rows.Scan(&p.Side, into(&p.Instance), into(&start), &first, &last, &p.Measured, &p.CPUMeasured)
		if start != 0 {
			p.Start = at(start)
		}
		p.First, p.Last = at(first), at(last)
		out = append(out, p)
		return err
	})
	return out, err
}

// Grid is how the time of a comparison is cut.
type Grid struct {
	Begin      time.Time
	TimeBucket time.Duration
	// Daily puts the base's rows into the buckets of the same time of day.
	Daily bool
	// ByAge puts rows into the buckets of the age of their process, bucket 0 being the first of
	// its life. Members must have a Start.
	ByAge bool
}

// Cells measures both sides of one comparison, sorted by method.
func (w *Warehouse) Cells(ctx context.Context, metric Metric, base, head Compared, members []Member, grid Grid) ([]Cell, error) {
	if err := w.prepare(ctx, []Compared{base, head}); err != nil {
		return nil, err
	}
	g := smallTable{columns: append(texts("side", "instance"), longs("process_start_ns", "member", "warm_ns")...)}
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
	if err := w.give(ctx, "members", g); err != nil {
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
	d, err := w.weighing(ctx)
	if err != nil {
		return nil, err
	}
	s := scope{dialect: d, metricColumns: columnsOf[metric], Of: &base.Service}
	var out []Cell
	var c, names Cell // what is read, and its method's
	var method, what int64
	columns := []any{&method, &what, &c.Caller, &c.Member, &c.TimeBucket, into(&c.Full), into(&c.Class), into(&c.Method), into(&c.Signature),
		&c.Records, &c.Weight, &c.Sum, &c.Waits, &c.Capped, &c.Log,
		&c.Near, &c.NearWeight, &c.Over, &c.OverWeight, &c.Far, &c.FarWeight, &c.Calls, &c.TimedWall, &c.TimedCPU}
	err = w.each(ctx, "cells", s, args, func(rows *sql.Rows) error {
		if err := rows.Scan(columns...); err != nil {
			return err
		}
		if what == 0 {
			names = c
			return nil
		}
		c.Full, c.Class, c.Method = names.Full, names.Class, names.Method
		if n := len(out); n > 0 { // cells of one caller are many, too
			share(&c.Caller, out[n-1].Caller)
			share(&c.Signature, out[n-1].Signature)
		}
		if len(out) == cap(out) { // there may be some 100,000, which append would move a dozen times
			out = slices.Grow(out, max(1024, len(out)))
		}
		out = append(out, c)
		return nil
	})
	boundRecords(out, members)
	return out, err
}

// share makes equal strings one.
func share(s *string, other string) {
	if *s == other {
		*s = other
	}
}

// serviceArgs are the values that Only asks for; an unknown part has none.
func serviceArgs(s Service) map[string]any {
	args := map[string]any{}
	for column, value := range map[string]string{"service_namespace": s.Namespace, "service": s.Name, "environment": s.Environment} {
		if value != "" {
			args[column] = value
		}
	}
	return args
}
